import { describe, expect, it } from "vitest";
import { commandFor, KEY_SHEET, type KeyPress } from "../src/state/keys.ts";

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  shift: false,
  modified: false,
  focus: "other",
  ...more,
});

describe("commandFor", () => {
  it("GIVEN the focus on the page WHEN keys are pressed THEN each does what the sheet says", () => {
    const expected = {
      ...{
        "1": "now",
        "2": "tasks",
        "3": "flame",
        "4": "timeline",
        "5": "table",
        "/": "search",
        " ": "freeze",
        "?": "help",
      },
      ...{ c: "cpu", b: "blocked", w: "waited", x: "hide", f: "openFlame", p: "pin", l: "list" },
      ...{ Enter: "enter", Escape: "escape", ArrowLeft: "left", ArrowRight: "right" },
      ...{ ArrowUp: "up", ArrowDown: "down" },
      ...{ t: "openTimeline", s: "zoomOut", a: "panLeft", d: "panRight", z: "fit", n: "nextLong" },
    };
    for (const [key, command] of Object.entries(expected)) expect(commandFor(press(key))).toBe(command);
  });

  it("GIVEN caps lock WHEN a letter comes as a capital THEN it means the same", () => {
    expect(commandFor(press("X"))).toBe("hide");
  });

  it("GIVEN Ctrl, Alt or Meta WHEN a key is pressed THEN it is the browser's", () => {
    for (const key of ["f", "1", "Enter", "ArrowLeft", "Escape"]) {
      expect(commandFor(press(key, { modified: true }))).toBeNull();
    }
  });

  it("GIVEN Shift WHEN a key is pressed THEN only the theme, the sheet and the previous long slice answer", () => {
    expect(commandFor(press("D", { shift: true }))).toBe("theme");
    expect(commandFor(press("?", { shift: true }))).toBe("help");
    expect(commandFor(press("/", { shift: true }))).toBe("search");
    expect(commandFor(press("N", { shift: true }))).toBe("previousLong");
    expect(commandFor(press("X", { shift: true }))).toBeNull();
    expect(commandFor(press("ArrowUp", { shift: true }))).toBeNull();
  });

  it("GIVEN the focus in a field WHEN keys are pressed THEN they write, and only Esc is ours", () => {
    for (const key of ["1", "/", "x", " ", "Enter", "ArrowLeft", "?"]) {
      expect(commandFor(press(key, { focus: "field" }))).toBeNull();
    }
    expect(commandFor(press("Escape", { focus: "field" }))).toBe("escape");
  });

  it("GIVEN the focus on a button WHEN Space or Enter is pressed THEN the button gets it", () => {
    expect(commandFor(press(" ", { focus: "button" }))).toBeNull();
    expect(commandFor(press("Enter", { focus: "button" }))).toBeNull();
    expect(commandFor(press("3", { focus: "button" }))).toBe("flame");
  });

  it("GIVEN the sheet WHEN it names a single key THEN that key does something", () => {
    const names: Record<string, string> = { Space: " ", Esc: "Escape", "←": "ArrowLeft", "→": "ArrowRight" };
    Object.assign(names, { "↑": "ArrowUp", "↓": "ArrowDown" });
    for (const line of KEY_SHEET) {
      if (line.keys.includes("Shift") || line.keys[0] === "Alt click") continue;
      for (const key of line.keys) expect(commandFor(press(names[key] ?? key)), key).not.toBeNull();
    }
  });
});
