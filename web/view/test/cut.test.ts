import { describe, expect, it } from "vitest";
import { crumbsShown, cutEnd, cutName, cutPlace, nameForms } from "../src/canvas/cut.ts";

/** Every character is 10 px wide. */
const measure = (text: string): number => text.length * 10;

describe("nameForms", () => {
  it("GIVEN a dotted name WHEN it is shortened THEN leading parts go one by one", () => {
    expect(nameForms("sqlite3.Cursor.execute")).toEqual([
      "sqlite3.Cursor.execute",
      "Cursor.execute",
      "execute",
    ]);
  });

  it("GIVEN a local function WHEN it is shortened THEN no form begins with <locals>", () => {
    expect(nameForms("make.<locals>.inner.<locals>.<lambda>")).toEqual([
      "make.<locals>.inner.<locals>.<lambda>",
      "inner.<locals>.<lambda>",
      "<lambda>",
    ]);
  });

  it("GIVEN names without parts or with odd dots WHEN they are shortened THEN none is empty", () => {
    expect(nameForms("run")).toEqual(["run"]);
    expect(nameForms("odd.")).toEqual(["odd."]);
    expect(nameForms("")).toEqual([""]);
  });
});

describe("cutName", () => {
  it("GIVEN room WHEN a name is cut THEN the longest form that fits is taken", () => {
    expect(cutName("Pool.acquire", 120, measure)).toBe("Pool.acquire");
    expect(cutName("Pool.acquire", 119, measure)).toBe("acquire");
    expect(cutName("Pool.acquire", 70, measure)).toBe("acquire");
  });

  it("GIVEN less room than the shortest form WHEN a name is cut THEN its end goes", () => {
    expect(cutName("Pool.acquire", 69, measure)).toBe("acqui…");
    expect(cutName("Pool.acquire", 40, measure)).toBe("acq…");
  });

  it("GIVEN room for under three letters WHEN a name is cut THEN nothing is shown", () => {
    expect(cutName("Pool.acquire", 39, measure)).toBe("");
    expect(cutName("ab", 20, measure)).toBe("ab");
    expect(cutName("abc", 29, measure)).toBe("");
    expect(cutName("abc", 0, measure)).toBe("");
  });
});

describe("cutEnd", () => {
  it("GIVEN a character of two code units at the cut WHEN the text is cut THEN it is not halved", () => {
    expect(cutEnd("abc😀def", 50, measure)).toBe("abc…");
  });
});

describe("cutPlace", () => {
  it("GIVEN a long path WHEN it is cut THEN folders go from the left, and name and line stay", () => {
    expect(cutPlace("shop/db/pool.py", 63, 40)).toBe("shop/db/pool.py:63");
    expect(cutPlace("shop/db/pool.py", 63, 14)).toBe("db/pool.py:63");
    expect(cutPlace("shop/db/pool.py", 63, 3)).toBe("pool.py:63");
  });

  it("GIVEN no line WHEN it is cut THEN none is shown", () => {
    expect(cutPlace("stdlib/sqlite3", 0, 40)).toBe("stdlib/sqlite3");
  });
});

describe("crumbsShown", () => {
  const names = ["handle", "wsgi_app", "dispatch", "report"];

  it("GIVEN room WHEN crumbs are chosen THEN all from the first shown row are", () => {
    expect(crumbsShown(names, 0, 100)).toEqual([0, 1, 2, 3]);
    expect(crumbsShown(names, 1, 100)).toEqual([1, 2, 3]);
  });

  it("GIVEN little room WHEN crumbs are chosen THEN the last ones stay, at least one", () => {
    expect(crumbsShown(names, 0, 20)).toEqual([2, 3]);
    expect(crumbsShown(names, 0, 1)).toEqual([3]);
    expect(crumbsShown([], 0, 1)).toEqual([]);
  });
});
