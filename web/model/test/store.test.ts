import type { Update } from "@flamelet/protocol";
import { goldenUpdates } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { BadUpdate, MissedUpdate, Store } from "../src/index.ts";
import { Program } from "./build.ts";

const golden = (): Update[] => structuredClone(goldenUpdates());

function storeAt(count: number): Store {
  const store = new Store();
  for (const update of golden().slice(0, count)) store.apply(update);
  return store;
}

describe("Store.apply", () => {
  it("GIVEN an empty store WHEN a delta comes THEN it is missed, and nothing changes", () => {
    const store = new Store();
    expect(() => store.apply(golden()[1]!)).toThrow(MissedUpdate);
    expect(store.version).toBe(0);
    expect(store.strings.size).toBe(1);
  });

  it("GIVEN a gap WHEN the update after it comes THEN it is missed, and the right one still fits", () => {
    const store = storeAt(1);
    expect(() => store.apply(golden()[2]!)).toThrow(MissedUpdate);
    store.apply(golden()[1]!);
    expect(store.version).toBe(2);
  });

  it("GIVEN a filled store WHEN a whole picture comes THEN everything before is forgotten", () => {
    const store = storeAt(3);
    const generation = store.generation;
    const changes = store.apply(golden()[3]!);
    expect(changes).toEqual({
      reset: true,
      ...{
        names: true,
        groups: true,
        threads: true,
        tasks: true,
        tree: true,
        slices: true,
        history: true,
        timeline: true,
      },
    });
    expect(store.generation).toBe(generation + 1);
    expect(store.tasks.size).toBe(3);
    expect(store.slices.size).toBe(1);
  });

  it("GIVEN deltas WHEN they are applied THEN the changes say what they touched", () => {
    const store = storeAt(1);
    expect(store.apply(golden()[1]!)).toMatchObject({ reset: false, names: true, slices: true, tree: true });
    const quiet: Update = { ...golden()[2]!, now: store.now };
    for (const name of ["strings", "functions", "groups", "threads", "tasks", "nodes"] as const)
      delete quiet[name];
    const nothing = {
      names: false,
      threads: false,
      tasks: false,
      tree: false,
      slices: false,
      history: false,
    };
    expect(store.apply(quiet)).toMatchObject(nothing);
  });

  it("GIVEN a parked task WHEN only time passes THEN its wait grows in task, node and group", () => {
    const store = storeAt(1);
    const later: Update = { subscription: 1, version: 2, since: 1, now: 100e6, status: golden()[0]!.status };
    expect(store.apply(later)).toMatchObject({ tasks: true, tree: true, groups: true });
    const row = store.tasks.rowOf(3);
    expect(store.tasks.open[row]).toBe(55e6);
    expect(store.nodes.open[8]).toBe(55e6);
    expect(store.groups.times(3).waited).toBe(55e6);
  });

  it("GIVEN deleted tasks WHEN others are added THEN ids lead to the right rows", () => {
    const program = new Program();
    const main = program.thread.task;
    program.core.tasks.get(1);
    const store = program.tell();
    for (let i = 0; i < 1100; i++) {
      const task = program.create({ name: `t${i}` });
      program.to(task).enter("work").cpu(1).leave().end(main).cpu(1);
      if (i % 50 === 0) program.tell(store);
    }
    program.tell(store);
    expect(store.tasks.size).toBe(1025);
    for (const task of program.core.tasks.values()) {
      const row = store.tasks.rowOf(task.id);
      expect(store.tasks.id[row]).toBe(task.id);
      expect(store.tasks.nameOf(row)).toBe(task.id === 1 ? "task" : `t${task.id - 2}`);
      expect(store.tasks.cpu[row]).toBe(task.cpu);
    }
    expect(store.tasks.rowOf(2)).toBe(-1);
  });

  it("GIVEN a row of a deleted task WHEN another is added THEN nothing of the old one is in it", () => {
    const store = storeAt(3); // task 3 is deleted, its row is task 4's or free
    const { status } = golden()[0]!;
    const add = { id: [9], thread: [1], begin: [400e6], hub: [0] };
    const base = { subscription: 1, status };
    store.apply({ ...base, version: 4, since: 3, now: 400e6, tasks: { del: [4] } });
    store.apply({ ...base, version: 5, since: 4, now: 400e6, tasks: { add } });
    const row = store.tasks.rowOf(9);
    expect(store.tasks.times(row)).toEqual({ cpu: 0, blocked: 0, idle: 0, waited: 0 });
    expect([store.tasks.name[row], store.tasks.group[row], store.tasks.switches[row]]).toEqual([0, 0, 0]);
  });

  it("GIVEN a task that becomes a hub late WHEN its thread says so THEN it is one", () => {
    const store = storeAt(1);
    const update = golden()[1]!;
    (update.threads!.upd!.hub as number[])[0] = 3;
    store.apply(update);
    expect(store.tasks.hub[store.tasks.rowOf(3)]).toBe(1);
  });

  it("GIVEN three threads WHEN one is deleted THEN the others keep their rows' contents and hubs their names", () => {
    const thread = (id: number): Record<string, number> => ({ id, tid: 100 + id, begin: id });
    const columns = (rows: Record<string, number>[]): never =>
      Object.fromEntries(Object.keys(rows[0]!).map((key) => [key, rows.map((row) => row[key])])) as never;
    const upd = (id: number): Record<string, number> => ({
      ...{ id, name: 0, state: 1, hub: id * 10, task: 0, node: 0, since: id, slice: 0 },
      ...{ slice_cpu: 0, slice_blocked: 0, slice_idle: 0, cpu: id, blocked: 0, idle: 0, end: 0 },
    });
    const { status } = golden()[0]!;
    const store = new Store();
    const base = { subscription: 1, status };
    store.apply({
      ...base,
      ...{ version: 1, since: 0, now: 10 },
      threads: { add: columns([1, 2, 3].map(thread)), upd: columns([1, 2, 3].map(upd)) },
    });
    store.apply({
      ...base,
      version: 2,
      since: 1,
      now: 11,
      threads: { upd: columns([upd(1), upd(3)]), del: [2] },
    });
    expect(store.threads.size).toBe(2);
    expect(store.threads.rowOf(2)).toBe(-1);
    const row = store.threads.rowOf(3);
    expect([store.threads.tid[row], store.threads.hubName(row), store.threads.cpu[row]]).toEqual([
      103,
      "hub 3",
      3,
    ]);
    expect(store.history(2)).toBeUndefined();
    expect(() => store.apply({ ...base, version: 3, since: 2, now: 12, threads: { del: [2] } })).toThrow(
      BadUpdate,
    );
  });

  it("GIVEN a thread that gets its hub after many updates WHEN hubs are named THEN they are counted in that order", () => {
    const program = new Program();
    program.hub();
    const store = program.tell();
    const second = program.core.attachThread(0, 2, "second");
    for (let i = 0; i < 5; i++) program.cpu(1).tell(store);
    program.core.switchTo(5e6, second, program.core.createTask(5e6, second, { hub: true }));
    program.cpu(1).tell(store);
    expect([store.threads.hubName(0), store.threads.hubName(1)]).toEqual(["hub 1", "hub 2"]);
    expect(store.threads.hubName(7)).toBe("");
  });

  it("GIVEN a subscription to one group WHEN its nodes come THEN tasks of other groups do no harm", () => {
    const update = golden()[0]!;
    update.nodes = {
      add: { id: [6, 7, 8], parent: [0, 6, 7], function: [0, 3, 4], group: [3, 3, 3], thread: [1, 1, 1] },
      upd: { id: [7], calls: [1], cpu: [10], blocked: [0], idle: [0], waited: [0] },
    };
    const store = new Store();
    store.apply(update);
    expect(store.nodes.count).toBe(3);
    expect([3, 6, 8].map((id) => store.nodes.has(id))).toEqual([false, true, true]);
    expect(store.nodes.open[8]).toBe(15e6);
    expect(store.nodes.path(3)).toEqual([]);
  });

  const contradictions: [string, (update: Update) => void, RegExp][] = [
    [
      "strings that do not follow",
      (u) => Object.assign(u.strings!, { first: 9 }),
      /^strings\.first: expected 12, got 9/,
    ],
    ["functions that do not follow", (u) => Object.assign(u.functions!, { first: 9 }), /^functions\.first/],
    [
      "a name that is not known",
      (u) => Object.assign(u.functions!.add, { file: [99] }),
      /^functions\.add\.file\[0\]/,
    ],
    [
      "a group that is not known",
      (u) => Object.assign(u.groups!.upd!, { id: [2, 9] }),
      /^groups\.upd\.id\[1\]/,
    ],
    [
      "a thread that is not known",
      (u) => Object.assign(u.threads!.upd!, { id: [7] }),
      /^threads\.upd\.id\[0\]/,
    ],
    ["a task that is not known", (u) => Object.assign(u.tasks!.upd!, { id: [2, 9] }), /^tasks\.upd\.id\[1\]/],
    ["a task deleted twice", (u) => Object.assign(u.tasks!, { del: [3, 3] }), /^tasks\.del\[1\]/],
    [
      "a node that is not known",
      (u) => Object.assign(u.nodes!.upd!, { id: [5, 6, 7, 8, 99] }),
      /^nodes\.upd\.id\[4\]/,
    ],
    [
      "a node added twice",
      (u) => Object.assign(u.nodes!.add!, { id: [8], parent: [7] }),
      /^nodes\.add\.id\[0\]/,
    ],
    [
      "a parent after its child",
      (u) => Object.assign(u.nodes!.add!, { parent: [10] }),
      /^nodes\.add\.parent\[0\]/,
    ],
    [
      "a function that is not known",
      (u) => Object.assign(u.nodes!.add!, { function: [9] }),
      /^nodes\.add\.function/,
    ],
    [
      "an id that would cost gigabytes",
      (u) => Object.assign(u.nodes!.add!, { id: [2 ** 31 - 1] }),
      /^nodes\.add\.id/,
    ],
    ["time that runs backwards", (u) => Object.assign(u, { now: 1 }), /^now: 1 is before 60000000/],
  ];
  it.each(contradictions)(
    "GIVEN %s WHEN it is applied THEN it is rejected and a whole picture helps",
    (_, break_, message) => {
      const store = storeAt(1);
      const update = golden()[1]!;
      break_(update);
      expect(() => store.apply(update)).toThrow(message);
      expect(() => store.apply(golden()[1]!)).toThrow(MissedUpdate);
      store.apply(golden()[3]!);
      expect(store.version).toBe(4);
    },
  );
});

describe("history", () => {
  it("GIVEN the server's history WHEN updates follow THEN they continue it", () => {
    const store = storeAt(5);
    const ring = store.history(1)!;
    const rows = Array.from({ length: ring.length }, (_, k) => [ring.cpu(k), ring.blocked(k), ring.idle(k)]);
    expect(ring.end).toBe(750e6);
    expect(rows).toEqual([
      [62e6, 120e6, 68e6],
      [93e6, 5e6, 152e6],
      [5e6, 0, 95e6],
    ]);
  });

  it("GIVEN a first update WHEN it has totals but no history THEN nothing is made up", () => {
    const store = storeAt(1);
    expect(store.history(1)!.length).toBe(0);
    expect(store.history(7)).toBeUndefined();
  });

  it("GIVEN more than two minutes WHEN they are told THEN the oldest goes", () => {
    const program = new Program();
    const store = program.tell();
    for (let i = 0; i < 150; i++) {
      program.cpu(i < 20 ? 1000 : 0).off(i < 20 ? 0 : 1000);
      program.tell(store);
    }
    const ring = store.history(1)!;
    expect(ring.length * ring.period).toBe(120e9);
    expect(ring.end).toBe(150e9);
    expect(ring.cpu(0)).toBe(0);
    expect(ring.blocked(0)).toBe(ring.period);
  });

  it("GIVEN a silence of minutes WHEN one update comes after it THEN its time is spread over what is kept", () => {
    const program = new Program();
    const store = program.tell();
    program.cpu(1000).tell(store);
    program.off(600_000).tell(store);
    const ring = store.history(1)!;
    expect(ring.length * ring.period).toBe(120e9);
    for (let k = 0; k < ring.length; k++) expect(ring.blocked(k)).toBeCloseTo(ring.period, -1);
  });
});

describe("slices", () => {
  it("GIVEN thousands of long slices WHEN they come THEN the newest are kept and found", () => {
    const { status } = golden()[0]!;
    const store = new Store();
    let id = 0;
    const slices = (count: number): never => {
      const ids = Array.from({ length: count }, () => ++id);
      const same = (value: number): number[] => ids.map(() => value);
      const rest = {
        thread: same(1),
        task: same(1),
        group: same(0),
        node: same(1),
        cpu: same(1),
        blocked: same(1),
      };
      return { add: { id: ids, begin: ids, end: ids.map((i) => i + 1), idle: same(0), ...rest } } as never;
    };
    for (let version = 1; version <= 30; version++) {
      const since = version - 1;
      store.apply({ subscription: 1, version, since, now: version, status, slices: slices(300) });
    }
    expect(store.slices.size).toBeGreaterThanOrEqual(4096);
    expect(store.slices.size).toBeLessThan(4500);
    expect(store.slices.id[store.slices.size - 1]).toBe(9000);
    expect(store.slices.begin[store.slices.rowOf(8000)]).toBe(8000);
    expect(store.slices.rowOf(1)).toBe(-1);
    expect(store.slices.rowOf(9001)).toBe(-1);
  });
});
