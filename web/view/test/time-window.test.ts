import { describe, expect, it } from "vitest";
import { axisTicks, FOLLOW, fitTime, panTime, spanOf, zoomTime } from "../src/canvas/time-window.ts";

const s = 1e9;
const NOW = 100 * s;

describe("the window of a timeline", () => {
  it("GIVEN a window that follows WHEN time passes THEN it ends at now", () => {
    expect(spanOf(FOLLOW, NOW)).toEqual({ from: 90 * s, to: NOW });
    expect(spanOf(FOLLOW, NOW + s)).toEqual({ from: 91 * s, to: NOW + s });
  });

  it("GIVEN a place under the pointer WHEN it is zoomed THEN its instant stays there", () => {
    for (const at of [0, 0.25, 0.9]) {
      for (const factor of [0.1, 0.7, 1.1]) {
        const before = { end: 60 * s, span: 10 * s };
        const after = spanOf(zoomTime(before, NOW, at, factor), NOW);
        expect(after.from + at * (after.to - after.from)).toBeCloseTo(50 * s + at * 10 * s, -1);
      }
    }
  });

  it("GIVEN the right edge of a window that follows WHEN it is zoomed there THEN it goes on following", () => {
    expect(zoomTime(FOLLOW, NOW, 1, 0.5)).toEqual({ end: null, span: 5 * s });
    expect(zoomTime(FOLLOW, NOW, 0.5, 0.5).end).toBe(97.5 * s);
  });

  it("GIVEN a zoom without end WHEN it goes on THEN the span stays within its bounds", () => {
    let window = FOLLOW;
    for (let i = 0; i < 200; i++) window = zoomTime(window, NOW, 0.3, 0.5);
    expect(window.span).toBe(20e3);
    for (let i = 0; i < 200; i++) window = zoomTime(window, NOW, 0.3, 2);
    expect(window).toEqual({ end: null, span: 120 * s });
  });

  it("GIVEN a pan WHEN it leaves now THEN the window stands still; back at now it follows; before the start it stops", () => {
    const back = panTime(FOLLOW, NOW, -0.5);
    expect(back).toEqual({ end: 95 * s, span: 10 * s });
    expect(panTime(back, NOW, 0.6)).toEqual(FOLLOW);
    expect(panTime(back, NOW, -50).end).toBe(5 * s);
  });

  it("GIVEN a slice WHEN the window is fitted THEN it is half of it, in the middle", () => {
    expect(fitTime(50 * s, 51 * s, NOW)).toEqual({ end: 51.5 * s, span: 2 * s });
  });
});

describe("the axis of a timeline", () => {
  // 250 ms past a full second, where full seconds of the clock are not those of the session.
  const epoch = new Date(2026, 0, 2, 10, 20, 0, 250).getTime();

  it("GIVEN ten seconds WHEN the axis is drawn THEN round times of the clock stand at their instants", () => {
    const ticks = axisTicks(0, 10 * s, 1000, epoch);
    expect(ticks.map(({ text }) => text)).toEqual([
      "10:20:02",
      "10:20:04",
      "10:20:06",
      "10:20:08",
      "10:20:10",
    ]);
    expect(ticks[0]!.at).toBe(1.75 * s);
  });

  it("GIVEN less than a second WHEN the axis is drawn THEN what lies between seconds is told from the last one", () => {
    const texts = axisTicks(0.7 * s, 1 * s, 1000, epoch).map(({ text }) => text);
    expect(texts).toEqual([
      "+950\u202fms",
      "10:20:01",
      "+50\u202fms",
      "+100\u202fms",
      "+150\u202fms",
      "+200\u202fms",
      "+250\u202fms",
    ]);
  });

  it("GIVEN any width WHEN the axis is drawn THEN ticks are far enough apart", () => {
    for (let span = 20e3; span < 120 * s; span *= 3.7) {
      const ticks = axisTicks(20 * s, 20 * s + span, 900, epoch);
      for (let i = 1; i < ticks.length; i++) {
        expect(((ticks[i]!.at - ticks[i - 1]!.at) / span) * 900).toBeGreaterThan(109);
      }
      expect(ticks.length).toBeGreaterThan(1);
    }
  });
});
