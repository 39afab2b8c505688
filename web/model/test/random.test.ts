/** Random programs on a naive core: what the model shows must be what the core knows. */
import { Camera, Core, RandomProgram, type RandomStep, updateBetween } from "@flamelet/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_KINDS, FunctionStats, KINDS, Store, type Store as StoreType, Tree } from "../src/index.ts";

const step: fc.Arbitrary<RandomStep> = fc.record({
  what: fc.nat(11),
  who: fc.nat(1000),
  after: fc.oneof(fc.constant(0), fc.nat(1000), fc.nat(400_000_000)),
});
const steps = fc.array(step, { minLength: 1, maxLength: 300 });
const every = fc.integer({ min: 1, max: 40 });

/** A program, and the store of a client that was there all the time. */
function follow(
  program: readonly RandomStep[],
  pace: number,
  onUpdate: (store: StoreType, core: Core, camera: Camera) => void,
): void {
  const core = new Core({ keepEnded: 2, keepSlices: 5 });
  const camera = new Camera(core);
  const store = new Store();
  let last: ReturnType<Camera["take"]> | null = null;
  new RandomProgram(core).run(program, (now, index) => {
    if (index % pace !== 0 && index !== program.length - 1) return;
    const picture = camera.take(now);
    store.apply(JSON.parse(JSON.stringify(updateBetween(last, picture))));
    last = picture;
    onUpdate(store, core, camera);
  });
}

/** Everything that is in a store, by id, without the order of rows. */
function contents(store: StoreType): unknown {
  const { tasks, threads, nodes, groups, slices, functions, strings } = store;
  const taskRows = Array.from({ length: tasks.size }, (_, row) => ({
    id: tasks.id[row],
    fields: [
      tasks.thread,
      tasks.begin,
      tasks.hub,
      tasks.name,
      tasks.group,
      tasks.state,
      tasks.node,
      tasks.wait,
    ].map((column) => column[row]),
    more: [tasks.since, tasks.switches, tasks.longest].map((column) => column[row]),
    times: tasks.times(row),
    text: tasks.nameOf(row),
  })).sort((a, b) => a.id! - b.id!);
  const threadRows = Array.from({ length: threads.size }, (_, row) => [
    ...[threads.id, threads.tid, threads.begin, threads.state, threads.hub, threads.task, threads.node].map(
      (c) => c[row],
    ),
    ...[threads.since, threads.slice, threads.sliceCpu, threads.sliceBlocked, threads.sliceIdle].map(
      (c) => c[row],
    ),
    ...[threads.cpu, threads.blocked, threads.idle, threads.end].map((c) => c[row]),
    threads.nameOf(row),
  ]);
  const nodeRows = Array.from({ length: nodes.size }, (_, id) =>
    [
      ...[nodes.parent, nodes.function, nodes.group, nodes.thread],
      ...[nodes.calls, nodes.cpu, nodes.blocked, nodes.idle, nodes.waited, nodes.open],
    ].map((column) => column[id]),
  );
  const groupRows = Array.from({ length: groups.size }, (_, id) => [
    groups.nameOf(id),
    groups.times(id),
    ...[groups.started, groups.ended, groups.switches, groups.longest].map((column) => column[id]),
  ]);
  return {
    ...{ now: store.now, status: store.status, taskRows, threadRows, nodeRows, groupRows },
    names: Array.from({ length: strings.size }, (_, id) => strings.get(id)),
    functions: Array.from({ length: functions.size }, (_, id) => functions.keyOf(id)),
    lastSlice: slices.id[slices.size - 1] ?? 0,
  };
}

describe("a store that follows a random program", () => {
  it("GIVEN any program WHEN its deltas are applied THEN the store equals one that got the whole picture", () => {
    fc.assert(
      fc.property(steps, every, (program, pace) => {
        follow(program, pace, (store, core) => {
          const whole = new Store();
          whole.apply(updateBetween(null, new Camera(core).take(store.now)));
          expect(contents(store)).toEqual(contents(whole));
        });
      }),
      { numRuns: 60 },
    );
  });

  it("GIVEN any program WHEN it is followed THEN the identities of time hold", () => {
    fc.assert(
      fc.property(steps, every, (program, pace) => {
        follow(program, pace, (store) => {
          const { tasks, threads, groups, nodes, now } = store;
          for (let row = 0; row < tasks.size; row++) {
            const until = tasks.state[row] === 2 ? tasks.since[row]! : now;
            expect(tasks.lifetime(row)).toBe(until - tasks.begin[row]!);
          }
          for (let row = 0; row < threads.size; row++) {
            const until = threads.end[row] || now;
            const sum = threads.cpu[row]! + threads.blocked[row]! + threads.idle[row]!;
            expect(sum).toBe(until - threads.begin[row]!);
          }
          // A group is the sum of its nodes, waits that go on included.
          for (let group = 0; group < groups.size; group++) {
            const sum = { cpu: 0, blocked: 0, idle: 0, waited: 0 };
            for (let id = 1; id < nodes.size; id++) {
              if (!nodes.has(id) || nodes.group[id] !== group) continue;
              for (const kind of KINDS) sum[kind] += nodes[kind][id]!;
              sum.waited += nodes.open[id]!;
            }
            expect(groups.times(group)).toEqual(sum);
          }
        });
      }),
      { numRuns: 60 },
    );
  });

  it("GIVEN any program WHEN history is kept THEN it sums to what each thread did since the first update", () => {
    fc.assert(
      fc.property(steps, every, (program, pace) => {
        /** Totals at the first update: nothing tells when that time came. */
        let base: Map<number, number> | null = null;
        let first = 0;
        follow(program, pace, (store) => {
          const { threads } = store;
          const total = (row: number): number =>
            threads.cpu[row]! + 2 * threads.blocked[row]! + 4 * threads.idle[row]!;
          if (base === null) {
            first = store.now;
            base = new Map(Array.from({ length: threads.size }, (_, row) => [threads.id[row]!, total(row)]));
          }
          for (let row = 0; row < threads.size; row++) {
            const ring = store.history(threads.id[row]!)!;
            let sum = 0;
            for (let k = 0; k < ring.length; k++) {
              expect(ring.cpu(k) + ring.blocked(k) + ring.idle(k)).toBeLessThanOrEqual(
                ring.period * (1 + 1e-9),
              );
              sum += ring.cpu(k) + 2 * ring.blocked(k) + 4 * ring.idle(k);
            }
            if (ring.length > 0) {
              const until = threads.end[row] || store.now;
              expect(ring.end).toBeGreaterThanOrEqual(until);
              expect(ring.end - until).toBeLessThan(ring.period);
            }
            // After two minutes the oldest is forgotten.
            if (store.now - first > 119e9) continue;
            expect(Math.abs(sum - (total(row) - (base.get(threads.id[row]!) ?? 0)))).toBeLessThan(1);
          }
        });
      }),
      { numRuns: 60 },
    );
  });
});

describe("a tree of a random program", () => {
  it("GIVEN any program WHEN a tree is kept up to date THEN totals are sums of own times, of all and of each scope", () => {
    fc.assert(
      fc.property(steps, every, (program, pace) => {
        let tree: Tree | null = null;
        follow(program, pace, (store) => {
          tree ??= new Tree(store);
          tree.update();
          checkTree(tree);
          const groups = Array.from({ length: store.groups.size }, (_, id) => id).filter(
            (id) => id % 2 === 1,
          );
          const part = new Tree(store);
          part.setScope(groups);
          part.update();
          checkTree(part);
          for (const kind of KINDS) {
            const sum = groups.reduce((total, id) => total + store.groups.times(id)[kind], 0);
            expect(part.total[kind][0]).toBe(sum);
          }
        });
      }),
      { numRuns: 40 },
    );
  });

  it("GIVEN any hidden functions WHEN a tree is summed THEN what is hidden and what is shown make the whole", () => {
    fc.assert(
      fc.property(
        steps,
        every,
        fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
        (program, pace, hidden) => {
          let tree: Tree | null = null;
          follow(program, pace, (store) => {
            tree ??= new Tree(store);
            tree.setHidden(hidden);
            tree.update();
            checkTree(tree);
            const shown = tree.totalTimes(0);
            const away = tree.hiddenTimes();
            tree.setHidden([]);
            tree.update();
            for (const kind of KINDS) expect(shown[kind] + away[kind]).toBe(tree.total[kind][0]);
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  /** Against a plain recursion over the same nodes. */
  function checkTree(tree: Tree): void {
    const { store } = tree;
    const stats = new FunctionStats(tree);
    stats.update();
    const totals = new Map<number, number>();
    const visit = (node: number, above: readonly number[]): number => {
      const fn = tree.function[node]!;
      const open = above.includes(fn);
      let sum = tree.own.cpu[node]! + tree.own.blocked[node]!;
      for (const child of tree.children(node)) {
        expect(tree.parent[child]).toBe(node);
        expect(tree.depth[child]).toBe(tree.depth[node]! + 1);
        if (!tree.hidden.has(tree.function[child]!)) sum += visit(child, [...above, fn]);
      }
      expect(tree.totalOf(node, DEFAULT_KINDS)).toBe(sum);
      if (!open) totals.set(fn, (totals.get(fn) ?? 0) + sum);
      return sum;
    };
    visit(0, []);
    for (let fn = 1; fn < store.functions.size; fn++) {
      expect((stats.total.cpu[fn] ?? 0) + (stats.total.blocked[fn] ?? 0)).toBe(totals.get(fn) ?? 0);
    }
    const wanted = tree.scope === "all" ? null : new Set(tree.scope);
    let calls = 0;
    for (let id = 1; id < store.nodes.size; id++) {
      if (!store.nodes.has(id) || (wanted && !wanted.has(store.nodes.group[id]!))) continue;
      calls += store.nodes.calls[id]!;
      expect(tree.path(tree.nodeOf(id))).toEqual(store.nodes.path(id));
    }
    expect(tree.calls.subarray(0, tree.size).reduce((a, b) => a + b, 0)).toBe(calls);
  }
});
