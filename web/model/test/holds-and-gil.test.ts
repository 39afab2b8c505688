import type { Update } from "@flamelet/protocol";
import { describe, expect, it } from "vitest";
import { BadUpdate, gilWaitOfHolder, hubReport, type Store } from "../src/index.ts";
import { Program } from "./build.ts";

/** A hub whose `worker` task holds it for 300 ms, 200 of them waiting for the GIL that thread "pool-1" has. */
function program() {
  const built = new Program();
  const hub = built.hub();
  const pool = built.core.attachThread(0, 2, "pool-1");
  built.core.enter(0, pool, built.fn("crunch@/app/pool.py:7"));
  const worker = built.create({ name: "worker" });
  const hold = (gil: number, rest: number): void => {
    built.to(worker);
    if (worker.group === 0) built.enter("job@/app/jobs.py:3", "load@/app/jobs.py:9");
    built.cpu(1);
    built.core.waitForGil(built.now * 1e6, built.thread, pool);
    built.off(gil);
    built.core.waitForGil(built.now * 1e6, built.thread, null);
    built.off(rest).to(hub).cpu(1);
  };
  return { built, hold, worker, pool };
}

function next(store: Store, sections: Partial<Update>): Update {
  const { version, now, status } = store;
  return { subscription: 1, version: version + 1, since: version, now, status: status!, ...sections };
}

describe("holds", () => {
  it("GIVEN long slices WHEN the store is asked THEN each function has its count, sums and longest", () => {
    const { built, hold } = program();
    hold(200, 100);
    hold(0, 400);
    const store = built.tell();
    const [id, ...others] = store.holds.ids();
    expect(others).toEqual([]);
    const { holds } = store;
    expect(store.functions.qualnameOf(holds.function[id!]!)).toBe("load");
    expect([holds.count[id!], holds.cpu[id!], holds.blocked[id!], holds.longest[id!]]).toEqual([
      2, 2e6, 700e6, 401e6,
    ]);
    hold(0, 500);
    built.tell(store);
    expect([holds.count[id!], holds.longest[id!]]).toEqual([3, 501e6]);
  });

  it("GIVEN several rows WHEN they are listed THEN the longest comes first, also that of all others", () => {
    const store = program().built.tell();
    const add = { id: [1, 2, 3], thread: [1, 1, 1], function: [1, 0, 2] };
    const upd = { id: [1, 2, 3], count: [1, 9, 2], cpu: [0, 0, 0], blocked: [5, 90, 8], longest: [5, 20, 7] };
    expect(store.apply(next(store, { holds: { add, upd } })).slices).toBe(true);
    expect(store.holds.ids()).toEqual([2, 3, 1]);
  });

  it("GIVEN a row that was never added, or twice WHEN it comes THEN the update is bad", () => {
    const store = program().built.tell();
    const upd = { id: [4], count: [1], cpu: [0], blocked: [5], longest: [5] };
    expect(() => store.apply(next(store, { holds: { upd } }))).toThrow(BadUpdate);
    const again = program().built.tell();
    const add = { id: [4, 4], thread: [1, 1], function: [1, 1] };
    expect(() => again.apply(next(again, { holds: { add } }))).toThrow(/holds\.add\.id\[1\]/);
  });
});

describe("gil", () => {
  it("GIVEN a task that waits for the GIL WHEN the store is asked THEN task, holder, both places and the time are known", () => {
    const { built, hold, worker, pool } = program();
    hold(200, 100);
    const store = built.tell();
    const { gil, nodes, functions } = store;
    const [id, ...others] = gil.ids();
    expect(others).toEqual([]);
    expect([gil.thread[id!], gil.task[id!], gil.holder[id!]]).toEqual([built.thread.id, worker.id, pool.id]);
    expect(functions.qualnameOf(nodes.function[gil.node[id!]!]!)).toBe("load");
    expect(functions.qualnameOf(nodes.function[gil.holderNode[id!]!]!)).toBe("crunch");
    expect(gil.waited[id!]).toBe(200e6);
    expect(gil.ids(worker.id)).toEqual([id]);
    expect(gil.ids(worker.id + 1)).toEqual([]);
  });

  it("GIVEN slices that mostly waited for the GIL WHEN the report is made THEN the sentence says for whom", () => {
    const { built, hold, pool } = program();
    for (let i = 0; i < 4; i++) hold(200, 50);
    const store = built.tell();
    const report = hubReport(store);
    expect(gilWaitOfHolder(store, report.holders[0]!)).toEqual({ waited: 800e6, holder: pool.id });
    expect(report.sentence).toMatch(
      /^job holds hub 1 for 251.ms each time, .*: 250.ms waiting for the GIL, held by thread pool-1, in load$/,
    );
  });

  it("GIVEN slices that waited a little for the GIL WHEN the report is made THEN they are blocked as before", () => {
    const { built, hold } = program();
    for (let i = 0; i < 4; i++) hold(20, 230);
    expect(hubReport(built.tell()).sentence).toMatch(/: 250.ms blocked in load$/);
  });

  it("GIVEN threads WHEN a sentence names them THEN hubs, names, and those that are not known are told apart", () => {
    const { built } = program();
    built.core.attachThread(0, 77, "");
    const { threads } = built.tell();
    expect([1, 2, 3, 9, 0].map((id) => threads.called(id))).toEqual([
      "hub 1",
      "thread pool-1",
      "thread 77",
      "a thread that has ended",
      "a thread that is not profiled",
    ]);
  });

  it("GIVEN a slice that lasts WHEN it went elsewhere meanwhile THEN the report blames where most of it was", () => {
    const built = new Program();
    built.hub();
    const worker = built.create();
    built.to(worker).enter("job@/app/jobs.py:3", "load@/app/jobs.py:9").off(2000).leave();
    built.enter("tidy@/app/jobs.py:20").off(10);
    expect(hubReport(built.tell()).sentence).toMatch(
      /job has held hub 1 for 2.01.s and still does.* in load$/,
    );
  });

  it("GIVEN a wait of a row that was never added WHEN it comes THEN the update is bad", () => {
    const store = program().built.tell();
    const upd = { id: [4], node: [0], holder_node: [0], looks: [1], waited: [5] };
    expect(() => store.apply(next(store, { gil: { upd } }))).toThrow(BadUpdate);
  });
});
