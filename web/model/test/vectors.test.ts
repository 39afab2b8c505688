import { type ExpectedTimes, expected, goldenUpdates } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { FunctionStats, Store, type Times, Tree, timesAt } from "../src/index.ts";

const STATES = ["current", "parked", "ended"];
const times = (t: Times): ExpectedTimes => t;

describe("the golden updates", () => {
  const store = new Store();
  const tree = new Tree(store);
  const stats = new FunctionStats(tree);
  const updates = goldenUpdates();

  it.each(expected().map((e, i) => ({ ...e, i })))(
    "GIVEN updates up to $version WHEN they are applied THEN every time is the expected one",
    ({ i, version, now, threads, tasks, groups, functions, slices }) => {
      store.apply(updates[i]!);
      tree.update();
      stats.update();

      expect({ version: store.version, now: store.now, slices: store.slices.size }).toEqual({
        version,
        now,
        slices,
      });
      expect(threadTimes()).toEqual(threads);
      expect(taskTimes()).toEqual(tasks);
      expect(groupTimes()).toEqual(groups);
      expect(functionTimes()).toEqual(functions);
    },
  );

  function threadTimes(): unknown {
    const rows: Record<string, unknown> = {};
    for (let row = 0; row < store.threads.size; row++) {
      const { id, begin, cpu, blocked, idle } = store.threads;
      rows[id[row]!] = {
        wall: store.now - begin[row]!,
        cpu: cpu[row],
        blocked: blocked[row],
        idle: idle[row],
      };
    }
    return rows;
  }

  function taskTimes(): unknown {
    const rows: Record<string, unknown> = {};
    const { tasks } = store;
    for (let row = 0; row < tasks.size; row++) {
      const state = STATES[tasks.state[row]!];
      rows[tasks.id[row]!] = {
        ...tasks.times(row),
        group: tasks.group[row],
        state,
        lifetime: tasks.lifetime(row),
      };
    }
    return rows;
  }

  function groupTimes(): unknown {
    const rows: Record<string, unknown> = {};
    for (let id = 0; id < store.groups.size; id++) rows[id] = times(store.groups.times(id));
    return rows;
  }

  function functionTimes(): unknown {
    const rows: Record<string, unknown> = {};
    for (const id of stats.ids) {
      rows[store.functions.qualnameOf(id)] = {
        calls: stats.calls[id],
        own: timesAt(stats.own, id),
        total: timesAt(stats.total, id),
      };
    }
    return rows;
  }
});
