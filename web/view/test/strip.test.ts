import type { HistoryRing } from "@flamelet/model";
import { describe, expect, it } from "vitest";
import { stripBars } from "../src/canvas/strip.ts";

const s = 1e9;

/** Periods of half a second; each value is [cpu, blocked] in ns, the rest idle. */
function ring(end: number, values: readonly (readonly [number, number])[], period = s / 2): HistoryRing {
  return {
    period,
    end,
    length: values.length,
    cpu: (k: number) => values[k]![0],
    blocked: (k: number) => values[k]![1],
    idle: (k: number) => period - values[k]![0] - values[k]![1],
  } as unknown as HistoryRing;
}

describe("stripBars", () => {
  it("GIVEN full periods WHEN bars are wide enough THEN each is one bar at its place", () => {
    const bars = stripBars(
      ring(10 * s, [
        [0.25 * s, 0],
        [0, 0.5 * s],
      ]),
      10 * s,
      10 * s,
      200,
      2,
    );
    expect(bars).toEqual([
      { x: 180, w: 10, cpu: 0.5, blocked: 0 },
      { x: 190, w: 10, cpu: 0, blocked: 1 },
    ]);
  });

  it("GIVEN narrow bars WHEN periods are put together THEN shares are means, and the whole is kept", () => {
    const values = Array.from({ length: 8 }, (_, k) => [k % 2 === 0 ? 0.5 * s : 0, 0] as const);
    const bars = stripBars(ring(4 * s, values), 4 * s, 4 * s, 8, 2);
    expect(bars.length).toBe(4);
    for (const bar of bars) expect(bar.cpu).toBeCloseTo(0.5);
    expect(bars[0]!.x).toBeCloseTo(0);
    expect(bars[3]!.x + bars[3]!.w).toBeCloseTo(8);
  });

  it("GIVEN a ring that moved on by one period WHEN bars are put together THEN the same periods stay together", () => {
    const values = Array.from({ length: 9 }, (_, k) => [k * 1e7, 0] as const);
    const shares = (bars: ReturnType<typeof stripBars>): number[] => bars.map((bar) => bar.cpu);
    const before = shares(stripBars(ring(4 * s, values.slice(0, 8)), 4 * s, 4 * s, 8, 2));
    const after = shares(stripBars(ring(4.5 * s, values.slice(1)), 4.5 * s, 4 * s, 8, 2));
    expect(after.slice(1, 4)).toEqual(before.slice(1, 4));
  });

  it("GIVEN a period that is not over WHEN it is drawn THEN it shows the share of the time that passed", () => {
    const half = { ...ring(10.5 * s, [[0.25 * s, 0]]), idle: () => 0 } as unknown as HistoryRing;
    const bars = stripBars(half, 10.25 * s, 10 * s, 200, 2);
    expect(bars).toEqual([{ x: 195, w: 5, cpu: 1, blocked: 0 }]);
  });

  it("GIVEN nothing to show WHEN bars are asked THEN there are none", () => {
    expect(stripBars(ring(s, []), s, s, 100, 2)).toEqual([]);
    expect(stripBars(ring(s, [[1, 0]]), s, s, 0, 2)).toEqual([]);
    expect(stripBars(ring(s, [[1, 0]]), 100 * s, s, 100, 2)).toEqual([]);
  });
});
