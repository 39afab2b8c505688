import { Store } from "@flamelet/model";
import { Camera, Core, updateBetween } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { gilWaitNow, gilWaitOf, gilWaits } from "../src/state/gil-wait.ts";

const ms = 1e6;

/** A task on a hub that runs for `cpu` ms, then waits `gil` ms for the GIL; "pool-1" has it, in crunch(). */
function waiting(cpu: number, gil: number, options: { lasts?: boolean } = {}) {
  const core = new Core();
  const thread = core.attachThread(0, 1, "MainThread");
  const pool = core.attachThread(0, 2, "pool-1");
  core.enter(0, pool, core.addFunction("crunch", "Pool.crunch", "/app/pool.py", 7));
  const hub = core.createTask(0, thread, { hub: true });
  const task = core.createTask(0, thread, { name: "worker" });
  core.switchTo(0, thread, hub);
  core.enter(0, thread, core.addFunction("run", "Hub.run", "/lib/hub.py", 1));
  core.switchTo(0, thread, task);
  core.enter(0, thread, core.addFunction("load", "load", "/app/jobs.py", 9));
  core.waitForGil(cpu * ms, thread, pool);
  core.processor(cpu * ms, thread, false);
  const now = (cpu + gil) * ms;
  if (!options.lasts) {
    core.settle(now);
    core.waitForGil(now, thread, null);
    core.processor(now, thread, true);
    core.switchTo(now, thread, hub);
  }
  const store = new Store();
  store.apply(updateBetween(null, new Camera(core).take(now)));
  return { store, task, row: store.threads.rowOf(thread.id) };
}

describe("waits for the GIL", () => {
  it("GIVEN a long slice that waited WHEN it is over THEN it says how long, and who held it where", () => {
    const { store } = waiting(60, 80);
    expect(store.slices.size).toBe(1);
    expect(gilWaitOf(store, 0)).toMatch(
      /^waited 80\.0.ms for the GIL, held by thread pool-1 in Pool\.crunch$/,
    );
  });

  it("GIVEN a wait that is a small part of its slice WHEN it is over THEN it is no reason", () => {
    const { store } = waiting(190, 10);
    expect(store.slices.gil[0]).toBe(10 * ms);
    expect(gilWaitOf(store, 0)).toBe("");
  });

  it("GIVEN a slice that waits now WHEN it lasts THEN it says so; afterwards no longer", () => {
    const lasting = waiting(60, 80, { lasts: true });
    expect(gilWaitNow(lasting.store, lasting.row)).toBe(
      "waits for the GIL, held by thread pool-1 in Pool.crunch",
    );
    const over = waiting(60, 80);
    expect(gilWaitNow(over.store, over.row)).toBe("");
  });

  it("GIVEN waits WHEN a task is asked for THEN it has its own, with time, place and holder", () => {
    const { store, task } = waiting(60, 80);
    const line = { task: task.id, waited: 80 * ms, place: "load", holder: "thread pool-1 in Pool.crunch" };
    expect(gilWaits(store, task.id)).toMatchObject([line]);
    expect(gilWaits(store)).toHaveLength(1);
    expect(gilWaits(store, task.id + 1)).toEqual([]);
  });
});
