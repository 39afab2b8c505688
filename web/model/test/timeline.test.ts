import type { TimelineAdd } from "@flamelet/protocol";
import { Camera, Core, updateBetween } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { BadUpdate, Store } from "../src/index.ts";
import { Timeline } from "../src/timeline.ts";

const LOST = { events: 0, tasks: 0, unmatched: 0, displaced: 0, slices: 0, strings: 0, threads: 0 };

/** Slices of one thread, one after the other, `each` ns long. */
function rows(count: number, options: { thread?: number; from?: number; each?: number } = {}): TimelineAdd {
  const { thread = 1, from = 0, each = 10 } = options;
  const column = (value: (i: number) => number): number[] =>
    Array.from({ length: count }, (_, i) => value(i));
  return {
    thread: column(() => thread),
    task: column((i) => i + 1),
    group: column(() => 1),
    node: column(() => 5),
    begin: column((i) => from + i * each),
    end: column((i) => from + (i + 1) * each),
    blocked: column(() => 2),
    idle: column(() => 3),
  };
}

describe("Timeline", () => {
  it("GIVEN slices WHEN an instant is asked for THEN it is found, with cpu as the rest", () => {
    const timeline = new Timeline();
    timeline.add(0, rows(100));
    const thread = timeline.of(1)!;
    expect(thread.size).toBe(100);
    expect(thread.rowAt(0)).toBe(0);
    expect(thread.rowAt(9)).toBe(0);
    expect(thread.rowAt(10)).toBe(1);
    expect(thread.rowAt(999)).toBe(99);
    expect(thread.rowAt(1000)).toBe(-1);
    expect(thread.cpu(7)).toBe(5);
    expect(timeline.of(2)).toBeUndefined();
  });

  it("GIVEN a gap between slices WHEN an instant in it is asked for THEN there is none", () => {
    const timeline = new Timeline();
    timeline.add(0, rows(2));
    timeline.add(2, rows(2, { from: 50 }));
    const thread = timeline.of(1)!;
    expect(thread.rowAt(30)).toBe(-1);
    expect(thread.firstAfter(30)).toBe(2);
    expect(timeline.lost).toBe(0);
  });

  it("GIVEN numbers that are left out WHEN rows come THEN they count as lost; numbers that come again are bad", () => {
    const timeline = new Timeline();
    timeline.add(700, rows(3));
    expect(timeline.lost).toBe(0);
    timeline.add(710, rows(1, { from: 100 }));
    timeline.count({ ...LOST, timeline: 0 });
    expect(timeline.lost).toBe(7);
    expect(() => timeline.add(710, rows(1, { from: 200 }))).toThrow(BadUpdate);
  });

  it("GIVEN what was shed before anybody asked WHEN more is shed THEN only that counts", () => {
    const timeline = new Timeline();
    timeline.count({ ...LOST, timeline: 9000 });
    timeline.add(0, rows(3));
    timeline.count({ ...LOST, timeline: 9000 });
    expect(timeline.lost).toBe(0);
    timeline.count({ ...LOST, timeline: 9040 });
    expect(timeline.lost).toBe(40);
  });

  it("GIVEN a slice that begins before the last one ends WHEN it comes THEN it is bad", () => {
    const timeline = new Timeline();
    timeline.add(0, rows(2));
    expect(() => timeline.add(2, rows(1, { from: 15 }))).toThrow(/timeline\.add\.begin\[0\]/);
    // Another thread has its own time.
    const other = new Timeline();
    other.add(0, rows(2));
    other.add(2, rows(1, { thread: 2, from: 15 }));
    expect(other.of(2)!.size).toBe(1);
  });

  it("GIVEN millions of slices WHEN they come THEN the newest stay and memory is bounded", () => {
    const timeline = new Timeline();
    let from = 0;
    for (let k = 0; k < 60; k++, from += 4096 * 10) timeline.add(k * 4096, rows(4096, { from }));
    const one = timeline.of(1)!;
    expect(one.size).toBeLessThanOrEqual(41_000);
    expect(one.size).toBeGreaterThanOrEqual(32_768);
    expect(one.end[one.size - 1]).toBe(from);
    expect(one.begin[0]).toBe(from - one.size * 10);
    const many = new Timeline();
    let first = 0;
    for (let thread = 1; thread <= 64; thread++) {
      for (let k = 0; k < 2; k++) {
        many.add(first, rows(4096, { thread, from: k * 40_960 }));
        first += 4096;
      }
    }
    for (let thread = 1; thread <= 64; thread++) {
      many.add(first, rows(2048, { thread, from: 100_000 }));
      first += 2048;
    }
    expect(many.rows).toBeLessThanOrEqual(1.3 * 2 ** 18);
  });
});

describe("Store: timeline", () => {
  const ms = 1e6;

  it("GIVEN a program WHEN the timeline is subscribed to THEN a thread's slices follow each other without gap", () => {
    const core = new Core();
    const camera = new Camera(core);
    const thread = core.attachThread(0, 1, "MainThread");
    const work = core.addFunction("work", "work", "/app.py", 1);
    const main = thread.task;
    const task = core.createTask(0, thread, { name: "worker" });
    const args = { what: ["threads", "tasks", "tree", "slices", "timeline"] as const };
    const store = new Store();
    let before = null;
    let now = 0;
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 3; i++) {
        now += 2 * ms;
        core.switchTo(now, thread, task);
        if (round === 0 && i === 0) core.enter(now, thread, work);
        now += 5 * ms;
        core.switchTo(now, thread, main);
      }
      const picture = camera.take(now);
      const changes = store.apply(updateBetween(before, picture, 1, { what: [...args.what] }));
      expect(changes.timeline).toBe(true);
      before = picture;
    }
    const timeline = store.timeline.of(thread.id)!;
    expect(timeline.size).toBe(30);
    for (let row = 1; row < timeline.size; row++) expect(timeline.begin[row]).toBe(timeline.end[row - 1]);
    expect(timeline.end[29]).toBe(now);
    expect(timeline.task[29]).toBe(task.id);
    expect(store.nodes.path(timeline.node[29]!)).toEqual([work]);
    expect(store.timeline.lost).toBe(0);
    // Not asked for: nothing of it is sent.
    const bare = new Store();
    bare.apply(updateBetween(null, before!));
    expect(bare.timeline.of(thread.id)).toBeUndefined();
  });
});
