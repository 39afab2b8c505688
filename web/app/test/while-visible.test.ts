import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { whileVisible } from "../src/while-visible.ts";

function sight() {
  const listeners = new Set<() => void>();
  const made = {
    visibilityState: "visible",
    addEventListener: (_type: string, listener: () => void) => void listeners.add(listener),
    removeEventListener: (_type: string, listener: () => void) => void listeners.delete(listener),
    become(state: "visible" | "hidden"): void {
      made.visibilityState = state;
      for (const listener of listeners) listener();
    },
  };
  return made;
}

describe("whileVisible", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("GIVEN a page in sight WHEN time passes THEN it is done each period, and not while the page is hidden", () => {
    const here = sight();
    const act = vi.fn();
    const end = whileVisible(here, 5000, act);
    expect(act).toHaveBeenCalledTimes(0);
    vi.advanceTimersByTime(15_000);
    expect(act).toHaveBeenCalledTimes(3);
    here.become("hidden");
    vi.advanceTimersByTime(60_000);
    expect(act).toHaveBeenCalledTimes(3);
    here.become("visible");
    expect(act).toHaveBeenCalledTimes(4);
    vi.advanceTimersByTime(5000);
    expect(act).toHaveBeenCalledTimes(5);
    end();
    here.become("visible");
    vi.advanceTimersByTime(60_000);
    expect(act).toHaveBeenCalledTimes(5);
  });

  it("GIVEN a page that is opened in the background WHEN it comes into sight THEN it is done at once", () => {
    const here = sight();
    here.visibilityState = "hidden";
    const act = vi.fn();
    whileVisible(here, 5000, act);
    vi.advanceTimersByTime(60_000);
    expect(act).toHaveBeenCalledTimes(0);
    here.become("visible");
    expect(act).toHaveBeenCalledTimes(1);
  });
});
