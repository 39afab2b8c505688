import type { Update } from "@flamelet/protocol";
import { describe, expect, it } from "vitest";
import { FrozenUpdates } from "../src/frozen-updates.ts";

const update = (version: number, since = version - 1): Update => ({ version, since }) as Update;

describe("FrozenUpdates", () => {
  it("GIVEN deltas WHEN they are taken THEN all are there in order, once", () => {
    const frozen = new FrozenUpdates(() => {});
    for (const version of [5, 6, 7]) frozen.push(update(version));
    expect(frozen.take().map((u) => u.version)).toEqual([5, 6, 7]);
    expect(frozen.take()).toEqual([]);
  });

  it("GIVEN deltas WHEN a whole picture comes THEN it replaces them", () => {
    const frozen = new FrozenUpdates(() => {});
    frozen.push(update(5));
    frozen.push(update(9, 0));
    frozen.push(update(10));
    expect(frozen.take().map((u) => u.version)).toEqual([9, 10]);
  });

  it("GIVEN a page frozen over night WHEN too many came THEN a whole picture is asked for each time, and bounds them", () => {
    let asked = 0;
    let version = 1;
    const frozen = new FrozenUpdates(() => asked++);
    let most = 0;
    for (let i = 0; i < 5000; i++) {
      frozen.push(update(++version));
      if (asked > 0 && i % 500 === 10) frozen.push(update(++version, 0));
      most = Math.max(most, frozen.size);
    }
    expect(asked).toBeGreaterThan(5);
    expect(most).toBeLessThan(1100);
  });
});
