import { describe, expect, it } from "vitest";
import {
  type Boxes,
  boxAt,
  contentHeight,
  easeOut,
  type FlameWindow,
  panBy,
  rowAt,
  rowTop,
  shareAt,
  toX,
  zoomAround,
  zoomWindow,
} from "../src/canvas/flame-window.ts";

/** Row 0: one box; row 1: [0, 0.5) and [0.75, 1); row 2: [0, 0.25). */
const boxes: Boxes = {
  rows: 3,
  x: [0, 0, 0.75, 0],
  w: [1, 0.5, 0.25, 0.25],
  hit(row, x) {
    const rows = [[0], [1, 2], [3]];
    return rows[row]?.find((box) => x >= this.x[box]! && x < this.x[box]! + this.w[box]!) ?? -1;
  },
};
const whole: FlameWindow = { from: 0, to: 1, width: 400, top: 0, firstRow: 0 };

describe("boxAt", () => {
  it("GIVEN the whole in sight WHEN boxes are hit THEN each answers for its own width and row", () => {
    expect(boxAt(boxes, whole, 200, 5)).toBe(0);
    expect(boxAt(boxes, whole, 100, 25)).toBe(1);
    expect(boxAt(boxes, whole, 350, 25)).toBe(2);
    expect(boxAt(boxes, whole, 99, 45)).toBe(3);
  });

  it("GIVEN a gap between boxes WHEN its upper part is hit THEN it is the tip of the frame above", () => {
    expect(boxAt(boxes, whole, 250, 22)).toBe(0);
    expect(boxAt(boxes, whole, 250, 36)).toBe(-1);
    expect(boxAt(boxes, whole, 50, 62)).toBe(3);
    expect(boxAt(boxes, whole, 50, 85)).toBe(-1);
  });

  it("GIVEN a place outside WHEN it is hit THEN nothing is", () => {
    expect(boxAt(boxes, whole, 200, -5)).toBe(-1);
    expect(boxAt(boxes, whole, 200, 5000)).toBe(-1);
  });

  it("GIVEN zoom, scroll and a hidden first row WHEN boxes are hit THEN all three count", () => {
    const view: FlameWindow = { from: 0.5, to: 1, width: 400, top: 10, firstRow: 1 };
    expect(boxAt(boxes, view, 300, 5)).toBe(2);
    expect(boxAt(boxes, view, 100, 5)).toBe(-1);
    expect(rowTop(view, 1)).toBe(-10);
    expect(rowAt(view, 9)).toBe(1);
    expect(rowAt(view, 10)).toBe(2);
  });
});

describe("toX and shareAt", () => {
  it("GIVEN any window WHEN a place is turned into a share and back THEN it is the same", () => {
    const view: FlameWindow = { from: 0.2, to: 0.45, width: 813, top: 0, firstRow: 0 };
    for (const px of [0, 1, 400.5, 813]) expect(toX(view, shareAt(view, px))).toBeCloseTo(px, 9);
  });
});

describe("zoomWindow", () => {
  it("GIVEN a frame WHEN it is zoomed THEN it fills the window, or its chosen part does", () => {
    expect(zoomWindow({ x: 0.5, w: 0.25 }, 0, 1)).toEqual({ from: 0.5, to: 0.75 });
    expect(zoomWindow({ x: 0.5, w: 0.25 }, 0.5, 1)).toEqual({ from: 0.625, to: 0.75 });
  });

  it("GIVEN a frame that counts nothing WHEN it is zoomed THEN the whole is in sight", () => {
    expect(zoomWindow({ x: 0, w: 0 }, 0, 1)).toEqual({ from: 0, to: 1 });
    expect(zoomWindow({ x: 0, w: Number.NaN }, 0, 1)).toEqual({ from: 0, to: 1 });
  });
});

describe("zoomAround and panBy", () => {
  it("GIVEN a pointer WHEN one zooms THEN the place under it stays", () => {
    const { lo, hi } = zoomAround(0, 1, 0.25, 0.5);
    expect(lo + (hi - lo) * 0.25).toBeCloseTo(0.25);
    expect(hi - lo).toBeCloseTo(0.5);
  });

  it("GIVEN any zoom or pan WHEN it goes too far THEN the window stays within 0 to 1", () => {
    expect(zoomAround(0.2, 0.6, 0, 10)).toEqual({ lo: 0, hi: 1 });
    expect(panBy(0.5, 1, 3)).toEqual({ lo: 0.5, hi: 1 });
    expect(panBy(0.25, 0.5, -9)).toEqual({ lo: 0, hi: 0.25 });
    const deep = zoomAround(0, 1, 1, 0);
    expect(deep.hi - deep.lo).toBeGreaterThan(0);
    expect(deep.hi).toBeLessThanOrEqual(1);
  });
});

describe("contentHeight and easeOut", () => {
  it("GIVEN rows WHEN the height is asked THEN the tip of the last has room", () => {
    expect(contentHeight(3, 0)).toBe(76);
    expect(contentHeight(3, 1)).toBe(56);
  });

  it("GIVEN an animation WHEN it begins and ends THEN it starts at 0, ends at 1 and only rises", () => {
    expect(easeOut(0)).toBe(0);
    expect(easeOut(1)).toBe(1);
    expect(easeOut(0.5)).toBeGreaterThan(0.5);
  });
});
