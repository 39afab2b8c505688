import { describe, expect, it } from "vitest";
import { menuMove } from "../src/state/menu-keys.ts";

const TEXTS = [
  ["app.py", "410"],
  ["worker.py", "411"],
  ["Worker.py", "52"],
];

describe("menuMove", () => {
  it.each([
    ["ArrowDown", 0, 1],
    ["ArrowDown", 2, 0],
    ["ArrowDown", -1, 0],
    ["ArrowUp", 1, 0],
    ["ArrowUp", 0, 2],
    ["ArrowUp", -1, 2],
    ["Home", 2, 0],
    ["End", 0, 2],
    ["PageDown", 0, 2],
    ["PageUp", 1, 0],
  ])("GIVEN three items WHEN %s is pressed at %i THEN it goes to %i", (key, at, to) => {
    expect(menuMove(key, at, TEXTS)).toBe(to);
  });

  it.each([
    ["w", 0, 1],
    ["w", 1, 2],
    ["W", 2, 1],
    ["a", 0, 0],
    ["5", 0, 2],
    ["4", 0, 1],
    ["4", -1, 0],
  ])("WHEN %s is typed at %i THEN it goes to the next that begins with it, %i", (key, at, to) => {
    expect(menuMove(key, at, TEXTS)).toBe(to);
  });

  it.each(["x", " ", "Enter", "Tab", "F1", "ArrowLeft"])(
    "WHEN %j is pressed THEN it is not for that",
    (key) => {
      expect(menuMove(key, 0, TEXTS)).toBeNull();
    },
  );

  it("GIVEN no item WHEN a key is pressed THEN it goes nowhere", () => {
    for (const key of ["ArrowDown", "ArrowUp", "End", "a"]) expect(menuMove(key, -1, [])).toBeNull();
  });
});
