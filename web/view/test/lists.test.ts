import { describe, expect, it } from "vitest";
import { visibleRange } from "../src/parts/visible-range.ts";
import { StableOrder } from "../src/state/stable-order.ts";
import { type FilterSubject, parseTaskFilter } from "../src/state/task-filter.ts";

describe("visibleRange", () => {
  it("GIVEN a long list WHEN it stands somewhere THEN the rows in sight and a margin are in", () => {
    expect(visibleRange(0, 240, 24, 20_000)).toEqual({ first: 0, end: 16 });
    expect(visibleRange(2400, 240, 24, 20_000)).toEqual({ first: 94, end: 116 });
  });

  it("GIVEN a list that became shorter WHEN it stands below its end THEN its last rows are in", () => {
    expect(visibleRange(90_000, 240, 24, 20)).toEqual({ first: 4, end: 20 });
  });

  it("GIVEN few rows or none WHEN it is asked THEN the range stays within them", () => {
    expect(visibleRange(0, 240, 24, 3)).toEqual({ first: 0, end: 3 });
    expect(visibleRange(500, 240, 24, 0)).toEqual({ first: 0, end: 0 });
    expect(visibleRange(0, -10, 24, 50)).toEqual({ first: 0, end: 6 });
  });
});

describe("StableOrder", () => {
  const sort = (
    order: StableOrder<string>,
    items: string[],
    value: Record<string, number>,
    hold: boolean,
    by = "",
  ) =>
    order.sort(
      items,
      (item) => item,
      (a, b) => (value[b] ?? 0) - (value[a] ?? 0),
      by,
      hold,
    );

  it("GIVEN an order WHEN values change while it is held THEN rows keep their places", () => {
    const order = new StableOrder<string>();
    expect(sort(order, ["a", "b", "c"], { a: 3, b: 2, c: 1 }, false)).toEqual(["a", "b", "c"]);
    expect(sort(order, ["c", "b", "a"], { a: 1, b: 2, c: 3 }, true)).toEqual(["a", "b", "c"]);
    expect(sort(order, ["c", "b", "a"], { a: 1, b: 2, c: 3 }, false)).toEqual(["c", "b", "a"]);
  });

  it("GIVEN a held order WHEN rows come and go THEN new ones are last and gone ones leave no hole", () => {
    const order = new StableOrder<string>();
    sort(order, ["a", "b", "c"], { a: 3, b: 2, c: 1 }, false);
    expect(sort(order, ["x", "c", "a"], { x: 9, a: 3, c: 1 }, true)).toEqual(["a", "c", "x"]);
  });

  it("GIVEN a held order WHEN another column is asked for THEN it is sorted anew", () => {
    const order = new StableOrder<string>();
    sort(order, ["a", "b"], { a: 2, b: 1 }, true, "cpu");
    expect(sort(order, ["a", "b"], { a: 1, b: 2 }, true, "waited")).toEqual(["b", "a"]);
  });
});

describe("parseTaskFilter", () => {
  const task: FilterSubject = {
    id: 2914,
    name: "10.0.3.49:42100",
    group: "WSGIHandler.handle",
    hub: "hub 1",
    activity: () => "waiting",
    where: () => "Pool.acquire Session.execute",
    age: () => 3.42e9,
  };
  const holds = (text: string): boolean => parseTaskFilter(text)?.(task) ?? true;

  it("GIVEN nothing WHEN a filter is made THEN there is none", () => {
    expect(parseTaskFilter("  ")).toBeNull();
  });

  it("GIVEN words WHEN a task is tested THEN all must be in its name, group, place, id or state", () => {
    expect(holds("42100")).toBe(true);
    expect(holds("wsgi 10.0.3")).toBe(true);
    expect(holds("acquire")).toBe(true);
    expect(holds("#2914")).toBe(true);
    expect(holds("#291")).toBe(false);
    expect(holds("waiting")).toBe(true);
    expect(holds("wsgi nothing-like-it")).toBe(false);
  });

  it("GIVEN a key WHEN a task is tested THEN only that is looked at", () => {
    expect(holds("for:pool.acquire")).toBe(true);
    expect(holds("for:wsgi")).toBe(false);
    expect(holds("state:wait")).toBe(true);
    expect(holds("state:run")).toBe(false);
    expect(holds("hub:1")).toBe(true);
    expect(holds("hub:2")).toBe(false);
    expect(holds("name:10.0.3")).toBe(true);
    expect(holds("name:wsgi")).toBe(false);
  });

  it("GIVEN a time WHEN a task is tested THEN how long it is in its state counts", () => {
    expect(holds(">1s")).toBe(true);
    expect(holds(">3420ms")).toBe(false);
    expect(holds("<3.5s")).toBe(true);
    expect(holds("<1min")).toBe(true);
    expect(holds(">1h")).toBe(false);
  });

  it("GIVEN a name with a colon WHEN it is no key THEN it is a word", () => {
    expect(holds("10.0.3.49:42100")).toBe(true);
    expect(holds("10.0.3.49:9")).toBe(false);
  });
});
