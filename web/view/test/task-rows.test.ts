import { DEFAULT_KINDS } from "@flamelet/model";
import { describe, expect, it } from "vitest";
import { type GroupRow, type RowOptions, TaskRows } from "../src/state/task-rows.ts";
import { ShopPage } from "./shop-page.ts";

const shop = new ShopPage();
const { page } = shop;

function build(options: Partial<RowOptions> = {}) {
  return new TaskRows(page).build({
    grouping: "entry",
    sort: { key: "hub", descending: true },
    filter: "",
    pinned: [],
    unfolded: new Set(),
    ended: false,
    onHub: (group) => page.groupHubs.onHub(group),
    kinds: DEFAULT_KINDS,
    hold: false,
    ...options,
  });
}
const groupsOf = (rows: ReturnType<typeof build>): GroupRow[] =>
  rows.rows.filter((row) => row.type === "group");

describe("TaskRows", () => {
  it("GIVEN the shop WHEN it is grouped by entry function THEN groups have the store's sums, most hub time first", () => {
    const groups = groupsOf(build());
    const names = groups.map((group) => group.title);
    expect(names).toContain("WSGIHandler.handle");
    expect(names).toContain("order_worker");
    for (const group of groups) {
      expect(group.times).toEqual(page.store.groups.times(group.group));
      expect(group.switches).toBe(page.store.groups.switches[group.group]);
    }
    const times = groups.map((group) => group.times.cpu + (group.offHub ? 0 : group.times.blocked));
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });

  it("GIVEN a group on a plain thread WHEN it blocks all day THEN it neither leads nor sets the scale", () => {
    const list = build();
    const log = groupsOf(list).find((group) => group.title === "LogWriter.run");
    expect(log?.offHub).toBe(true);
    expect(groupsOf(list)[0]!.title).not.toBe("LogWriter.run");
    expect(list.fullGroup).toBeLessThan(log!.times.blocked);
  });

  it("GIVEN folded groups WHEN one is unfolded THEN its tasks follow it, one level down", () => {
    expect(build().rows.every((row) => row.type === "group")).toBe(true);
    const key = `g${shop.group("order_worker")}`;
    const { rows } = build({ unfolded: new Set([key]) });
    const at = rows.findIndex((row) => row.key === key);
    const group = rows[at] as GroupRow;
    const tasks = rows.slice(at + 1, at + 1 + group.tasks);
    expect(group.open).toBe(true);
    expect(tasks.length).toBeGreaterThan(1);
    for (const task of tasks) {
      expect(task).toMatchObject({ type: "task", level: 2 });
      if (task.type !== "task") continue;
      const row = page.store.tasks.rowOf(task.id);
      expect(page.store.groups.nameOf(page.store.tasks.group[row]!)).toBe("order_worker");
    }
  });

  it("GIVEN any grouping WHEN rows are counted THEN every task is in one group, and states add up", () => {
    const { of } = build();
    for (const grouping of ["entry", "state", "waits", "hub"] as const) {
      const groups = groupsOf(build({ grouping }));
      expect(groups.reduce((sum, group) => sum + group.tasks, 0)).toBe(of);
      for (const group of groups) {
        expect(Object.values(group.counts).reduce((a, b) => a + b)).toBe(group.tasks);
      }
    }
    expect(build({ grouping: "none" }).rows.length).toBe(of);
  });

  it("GIVEN a filter WHEN rows are built THEN sums are those of the tasks that hold", () => {
    const list = build({ filter: "order_worker" });
    expect(groupsOf(list).map((group) => group.title)).toEqual(["order_worker"]);
    expect(list.shown).toBeLessThan(list.of);
    const none = build({ filter: "no-such-task" });
    expect(none.rows).toEqual([]);
    expect(none.shown).toBe(0);
  });

  it("GIVEN each sortable column WHEN it is sorted both ways THEN tasks come in that order", () => {
    const { tasks } = page.store;
    const value: Record<string, (row: number) => number | string> = {
      cpu: (row) => tasks.cpu[row]!,
      blocked: (row) => tasks.blocked[row]!,
      waited: (row) => tasks.times(row).waited,
      switches: (row) => tasks.switches[row]!,
      longest: (row) => tasks.longest[row]!,
      name: (row) => tasks.nameOf(row),
    };
    for (const [key, of] of Object.entries(value)) {
      for (const descending of [true, false]) {
        const { rows } = build({ grouping: "none", sort: { key, descending } });
        const values = rows.map((row) => (row.type === "task" ? of(tasks.rowOf(row.id)) : 0));
        const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        expect(values, key).toEqual(descending ? sorted.reverse() : sorted);
      }
    }
  });

  it("GIVEN a pinned task WHEN rows are built THEN it is at the top and at its own place too", () => {
    const id = page.store.tasks.id[5]!;
    const { rows } = build({ grouping: "none", pinned: [id, 999_999] });
    expect(rows[0]).toMatchObject({ type: "task", id, pinned: true });
    expect(rows.filter((row) => row.type === "task" && row.id === id).length).toBe(2);
  });

  it("GIVEN ended tasks WHEN they are not asked for THEN they are counted but not listed", () => {
    const hidden = build();
    const shown = build({ ended: true });
    expect(hidden.endedHidden).toBeGreaterThan(0);
    expect(shown.of).toBe(hidden.of + hidden.endedHidden);
    expect(build({ filter: "state:ended", grouping: "none" }).rows.length).toBe(hidden.endedHidden);
  });

  it("GIVEN tasks with a label WHEN they are grouped THEN they have a group of their own, which filter and flame know", () => {
    const titles = groupsOf(build()).map((group) => group.title);
    expect(titles).toContain("client");
    expect(titles).toContain("client [mobile]");
    const mobile = shop.group("client [mobile]");
    const labelled = build({ filter: "mobile", grouping: "none" });
    expect(labelled.shown).toBe(12);
    for (const row of labelled.rows) {
      if (row.type === "task") expect(page.store.tasks.group[page.store.tasks.rowOf(row.id)]).toBe(mobile);
    }
    expect(build({ filter: "client", grouping: "none" }).shown).toBe(48);
    expect(page.groupName(mobile)).toBe("client [mobile]");
  });
});
