import type { Module } from "@flamelet/model";
import { describe, expect, it } from "vitest";
import { ModuleColours } from "../src/canvas/module-colours.ts";
import { LIBRARY_HUES } from "../src/canvas/palette.ts";

const library = (name: string): Module => ({ name, origin: "library" });
/** Function n belongs to library "lib n". */
const source = { of: (fn: number): Module => library(`lib ${fn}`) };

describe("ModuleColours", () => {
  it("GIVEN libraries by share WHEN they get their hues THEN the largest gets the first", () => {
    const colours = new ModuleColours(source);
    colours.assign([7, 3, 5]);
    expect(colours.token(library("lib 7"))).toBe("lib-0");
    expect(colours.token(library("lib 3"))).toBe("lib-1");
    expect(colours.token(library("lib 5"))).toBe("lib-2");
  });

  it("GIVEN hues WHEN shares change THEN each library keeps its own", () => {
    const colours = new ModuleColours(source);
    colours.assign([1, 2]);
    colours.assign([9, 2, 1]);
    expect(colours.token(library("lib 1"))).toBe("lib-0");
    expect(colours.token(library("lib 2"))).toBe("lib-1");
    expect(colours.token(library("lib 9"))).toBe("lib-2");
  });

  it("GIVEN more libraries than hues WHEN they are coloured THEN every one has an existing hue", () => {
    const colours = new ModuleColours(source);
    for (let i = 0; i < 3 * LIBRARY_HUES; i++) {
      const slot = Number(colours.token(library(`lib ${i}`)).slice("lib-".length));
      expect(slot).toBe(i % LIBRARY_HUES);
    }
  });

  it("GIVEN other origins WHEN they are coloured THEN they take no hue of a library", () => {
    const colours = new ModuleColours(source);
    expect(colours.token({ name: "shop", origin: "own" })).toBe("own");
    expect(colours.token({ name: "gevent", origin: "gevent" })).toBe("loop");
    expect(colours.token({ name: "stdlib", origin: "stdlib" })).toBe("std");
    expect(colours.token({ name: "builtin", origin: "builtin" })).toBe("std");
    expect(colours.token(library("first"))).toBe("lib-0");
  });
});
