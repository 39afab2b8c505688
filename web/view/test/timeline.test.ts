import { ThreadTimeline } from "@flamelet/model";
import { describe, expect, it } from "vitest";
import { type Lane, laneColumns, laneGaps, lanesSlices } from "../src/canvas/timeline-painter.ts";
import { HUB_LANE, Lanes, sliceTitle, TASK_LANE } from "../src/timeline/lanes.ts";
import { ShopPage } from "./shop-page.ts";

/** [begin, end, blocked, idle, task] */
function timelineOf(rows: readonly (readonly [number, number, number, number, number])[]): ThreadTimeline {
  const slices = new ThreadTimeline();
  const columns = {
    ...{ thread: rows.map(() => 1), group: rows.map(() => 1), node: rows.map(() => 0) },
    ...{ task: rows.map((r) => r[4]), begin: rows.map((r) => r[0]), end: rows.map((r) => r[1]) },
    ...{ blocked: rows.map((r) => r[2]), idle: rows.map((r) => r[3]) },
  };
  for (let i = 0; i < rows.length; i++) slices.push(columns, i, 1e6);
  return slices;
}

function laneOf(slices: ThreadTimeline | undefined, more: Partial<Lane> = {}): Lane {
  const place = { y: 0, height: 40, title: "hub 1", note: "" };
  return { thread: 1, task: 0, ...place, slices, lasting: null, ...more };
}

describe("a lane", () => {
  const lane = laneOf(
    timelineOf([
      [0, 100, 0, 90, 1],
      [100, 103, 1, 0, 2],
      [103, 200, 0, 97, 1],
      [200, 700, 400, 0, 3],
    ]),
  );

  it("GIVEN slices WHEN a stretch is asked for THEN those in it come, of one task when the lane is its own", () => {
    expect([...lanesSlices(lane, 50, 150)].map(({ begin }) => begin)).toEqual([0, 100, 103]);
    expect([...lanesSlices({ ...lane, task: 1 }, 0, 1000)].map(({ begin }) => begin)).toEqual([0, 103]);
  });

  it("GIVEN slices of under two pixels WHEN they are drawn THEN their time is all there, spread over the pixels it covers", () => {
    // 10 ns a pixel: 100 to 103 becomes a column, the others are solid.
    const { cpu, blocked, solid } = laneColumns(lane, 0, 1000, 100);
    expect(solid.map(({ begin }) => begin)).toEqual([0, 103, 200]);
    expect(cpu[10]).toBeCloseTo(0.2);
    expect(blocked[10]).toBeCloseTo(0.1);
    // 400 ns a pixel: only the long one's two pixels are shared.
    const coarse = laneColumns(lane, 0, 4000, 10);
    expect(coarse.solid).toEqual([]);
    const sum = (column: Float64Array): number => column.reduce((all, share) => all + share * 400, 0);
    expect(sum(coarse.cpu)).toBeCloseTo(10 + 2 + 100);
    expect(sum(coarse.blocked)).toBeCloseTo(1 + 400);
    for (const share of coarse.cpu) expect(share).toBeLessThanOrEqual(1);
  });

  it("GIVEN a slice that lasts WHEN its lane is drawn THEN it is the last one", () => {
    const lasting = { row: -1, task: 2, group: 1, begin: 700, end: 900, cpu: 200, blocked: 0 };
    const slices = [...lanesSlices({ ...lane, lasting }, 0, 1000)];
    expect(slices[slices.length - 1]).toBe(lasting);
    expect([...lanesSlices({ ...lane, lasting, task: 3 }, 0, 1000)]).toHaveLength(1);
  });

  it("GIVEN missing rows WHEN gaps are asked for THEN what is lost is told from what is not kept", () => {
    const gappy = laneOf(
      timelineOf([
        [200, 300, 0, 0, 1],
        [400, 500, 0, 0, 1],
        [500, 600, 0, 0, 2],
      ]),
    );
    expect(laneGaps(gappy, 0, 1000)).toEqual([
      { begin: 0, end: 200, lost: false },
      { begin: 300, end: 400, lost: true },
    ]);
    expect(laneGaps(gappy, 350, 1000)).toEqual([{ begin: 300, end: 400, lost: true }]);
    expect(laneGaps(gappy, 420, 1000)).toEqual([]);
    expect(laneGaps(laneOf(undefined), 10, 90)).toEqual([{ begin: 10, end: 90, lost: false }]);
  });
});

describe("Lanes", () => {
  const SECTIONS = ["threads", "tasks", "tree", "slices", "timeline"] as const;
  const shop = new ShopPage(20, 30, [...SECTIONS]);
  const { page } = shop;
  const span = (): [number, number] => [page.store.now - 10e9, page.store.now];

  it("GIVEN the shop WHEN lanes are made THEN hubs come first, then who had one longest, as many as there is room for", () => {
    const lanes = new Lanes(page).build(...span(), 24 + 2 * HUB_LANE + 5 * TASK_LANE);
    expect(lanes.map((lane) => lane.title).slice(0, 2)).toEqual(["hub 1", "hub 2"]);
    expect(lanes).toHaveLength(7);
    const busy = (lane: Lane): number =>
      [...lanesSlices(lane, ...span())].reduce((sum, slice) => sum + slice.cpu + slice.blocked, 0);
    const times = lanes.slice(2).map(busy);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(times[0]).toBeGreaterThan(100e6);
    for (let i = 1; i < lanes.length; i++) expect(lanes[i]!.y).toBe(lanes[i - 1]!.y + lanes[i - 1]!.height);
  });

  it("GIVEN lanes WHEN time goes on THEN tasks that are still among the busiest stay where they are", () => {
    const made = new Lanes(page);
    const before = made.build(...span(), 500).slice(2);
    shop.run(0.25);
    const after = made.build(...span(), 500).slice(2);
    const both = before.map(({ task }) => task).filter((task) => after.some((lane) => lane.task === task));
    expect(both.length).toBeGreaterThan(5);
    expect(after.map(({ task }) => task).filter((task) => both.includes(task))).toEqual(both);
  });

  it("GIVEN a selected task that did nothing in sight WHEN lanes are made THEN it has one all the same", () => {
    const { tasks } = page.store;
    const made = new Lanes(page);
    const shown = new Set(made.build(...span(), 500).map(({ task }) => task));
    const row = Array.from({ length: tasks.size }, (_, i) => i).find(
      (i) => !shown.has(tasks.id[i]!) && tasks.hub[i] === 0,
    )!;
    page.selection.value = { kind: "task", id: tasks.id[row]! };
    expect(made.build(...span(), 500)[2]!.task).toBe(tasks.id[row]);
    page.selection.value = null;
  });

  it("GIVEN a filter WHEN lanes are made THEN only tasks that match have one, by name or label", () => {
    page.taskQuery.value = "mobile";
    const lanes = new Lanes(page).build(...span(), 800).slice(2);
    page.taskQuery.value = "";
    expect(lanes.length).toBeGreaterThan(3);
    for (const lane of lanes) expect(lane.title).toMatch(/^client-(4|8|12|16|20|24|28|32|36|40|44|48)$/);
  });

  it("GIVEN a hub's own slice, a named task and a forgotten one WHEN they are named THEN each has a name", () => {
    const hub = page.store.threads.hub[0]!;
    expect(sliceTitle(page, hub, 0)).toBe("hub 1, its loop");
    expect(sliceTitle(page, 999_999, shop.group("order_worker"))).toBe("#999999 order_worker");
  });

  it("GIVEN a slice of the timeline that was long WHEN it is looked for THEN the long slices know where it was spent", () => {
    const { timeline, threads, slices } = page.store;
    const thread = threads.id[0]!;
    const rows = timeline.of(thread)!;
    let found = 0;
    for (let row = 0; row < rows.size; row++) {
      const long = page.longSlice({ thread, begin: rows.begin[row]!, end: rows.end[row]! });
      expect(long >= 0).toBe(rows.cpu(row) + rows.blocked[row]! > 100e6);
      if (long >= 0) {
        found++;
        expect(slices.task[long]).toBe(rows.task[row]);
      }
    }
    expect(found).toBeGreaterThan(1);
  });
});
