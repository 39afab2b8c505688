import { describe, expect, it } from "vitest";
import { takeToken } from "../src/token.ts";

function place(hash: string, pathname = "/", stored: Record<string, string> = {}) {
  const urls: string[] = [];
  return {
    urls,
    stored,
    location: { hash, pathname, search: "" },
    history: { replaceState: (_data: unknown, _unused: string, url: string) => void urls.push(url) },
    sessionStorage: {
      getItem: (key: string) => stored[key] ?? null,
      setItem: (key: string, value: string) => {
        stored[key] = value;
      },
    },
  };
}

describe("takeToken", () => {
  it("GIVEN a token in the address WHEN it is taken THEN it is stored and no longer in the address", () => {
    const here = place("#t=00ff");
    expect(takeToken(here)).toBe("00ff");
    expect(here.urls).toEqual(["/"]);
    expect(takeToken({ ...here, location: { ...here.location, hash: "" } })).toBe("00ff");
  });

  it("GIVEN an old token WHEN the address brings a new one THEN the new one counts", () => {
    const here = place("#t=new", "/", { "flamelet token /": "old" });
    expect(takeToken(here)).toBe("new");
    expect(here.stored["flamelet token /"]).toBe("new");
  });

  it("GIVEN two programs behind one proxy WHEN tokens are stored THEN each path has its own", () => {
    const stored = {};
    takeToken(place("#t=one", "/proxy/1/", stored));
    takeToken(place("#t=two", "/proxy/2/", stored));
    expect(takeToken(place("", "/proxy/1/", stored))).toBe("one");
  });

  it("GIVEN no token WHEN it is taken THEN it is empty, and the address stays", () => {
    const here = place("#t=");
    expect(takeToken(here)).toBe("");
    expect(here.urls).toEqual([]);
    expect(takeToken(place("#view=flame"))).toBe("");
  });

  it("GIVEN forbidden storage WHEN the token is taken THEN it works, and stays in the address for a reload", () => {
    const here = place("#t=00ff");
    here.sessionStorage.setItem = () => {
      throw new Error("denied");
    };
    here.sessionStorage.getItem = () => {
      throw new Error("denied");
    };
    expect(takeToken(here)).toBe("00ff");
    expect(here.urls).toEqual([]);
    expect(takeToken({ ...here, location: { ...here.location, hash: "" } })).toBe("");
  });
});
