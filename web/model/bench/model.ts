/**
 * Measures what the page does with a large program at each update, in CPU time (compilers and garbage collection
 * included), so that busy neighbours do not count:
 *
 *   npm run bench -- [--nodes 100000] [--rounds 30]
 */
import { parseArgs } from "node:util";
import { checkUpdate, type NodeAdd, type NodeUpd, type Update } from "@flamelet/protocol";
import { DEFAULT_KINDS, FunctionStats, Icicle, Search, Store, Tree } from "../src/index.ts";

const { values } = parseArgs({
  options: { nodes: { type: "string", default: "100000" }, rounds: { type: "string", default: "30" } },
});
const NODES = Number(values.nodes);
const ROUNDS = Number(values.rounds);
const FUNCTIONS = 3000;

let seed = 1;
/** 0 to `below` - 1 */
function draw(below: number): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

const status: Update["status"] = {
  state: "running",
  clock: "monotonic+short",
  reading: 20,
  switches: true,
  nodes: NODES,
  tasks: 0,
  lost: { events: 0, tasks: 0, unmatched: 0, displaced: 0, slices: 0, strings: 0, threads: 0 },
};
const times = (ids: number[]): NodeUpd => ({
  id: ids,
  calls: ids.map(() => draw(1000)),
  cpu: ids.map(() => draw(1e9)),
  blocked: ids.map(() => draw(3) * draw(1e8)),
  idle: ids.map(() => 0),
  waited: ids.map(() => draw(1e9)),
});

/** Four threads, eight groups, calls up to some 60 deep. */
function whole(): string {
  const add = {
    id: [] as number[],
    parent: [] as number[],
    function: [] as number[],
    group: [] as number[],
    thread: [] as number[],
  };
  for (let id = 1; id <= NODES; id++) {
    const root = id <= 32;
    const parent = root
      ? 0
      : 1 + draw(Math.min(id - 1, id < 2000 ? id - 1 : 40_000)) + Math.max(0, id - 1 - 40_000);
    const above = parent - 1;
    add.id.push(id);
    add.parent.push(root ? 0 : Math.min(parent, id - 1));
    add.function.push(root ? 0 : 1 + draw(FUNCTIONS));
    add.group.push(root ? 1 + (id % 8) : add.group[Math.min(above, id - 2)]!);
    add.thread.push(root ? 1 + (id % 4) : add.thread[Math.min(above, id - 2)]!);
  }
  const names = Array.from({ length: FUNCTIONS }, (_, i) => `Class${i % 211}.method_${i}`);
  const column = (value: (i: number) => number): number[] => names.map((_, i) => value(i));
  const update: Update = {
    subscription: 1,
    version: 1,
    since: 0,
    now: 1e9,
    status,
    strings: { first: 1, add: [...names, "/app/file.py"] },
    functions: {
      first: 1,
      add: {
        name: column((i) => i + 1),
        qualname: column((i) => i + 1),
        file: column(() => FUNCTIONS + 1),
        line: column((i) => i + 1),
        kind: column(() => 0),
      },
    },
    nodes: { add: add as NodeAdd, upd: times(add.id) },
  };
  return JSON.stringify(update);
}

const measured = new Map<string, number[]>();
function measure<T>(name: string, run: () => T): T {
  const begin = process.cpuUsage();
  const result = run();
  const list = measured.get(name) ?? [];
  const { user, system } = process.cpuUsage(begin);
  list.push((user + system) / 1000);
  measured.set(name, list);
  return result;
}

const text = whole();
const store = new Store();
const tree = new Tree(store);
const icicle = new Icicle(tree);
const stats = new FunctionStats(tree);
const search = new Search(tree);
search.set("method_77");

console.log(`${NODES} nodes, whole picture ${(text.length / 1e6).toFixed(1)} MB, node ${process.version}`);
const first = measure("first: JSON.parse", () => JSON.parse(text) as unknown);
const update = measure("first: checkUpdate", () => checkUpdate(first));
measure("first: Store.apply", () => store.apply(update));
measure("first: Tree.update", () => tree.update());
measure("first: Icicle.layout", () => icicle.layout({ kinds: DEFAULT_KINDS, order: "name" }));
console.log(`tree of ${tree.size} nodes, ${icicle.rows} rows, ${icicle.size} boxes`);

for (let round = 1; round <= ROUNDS; round++) {
  const changed = Array.from({ length: NODES / 20 }, (_, i) => 1 + i * 20 + draw(20));
  const delta = {
    subscription: 1,
    version: round + 1,
    since: round,
    now: 1e9 + round,
    status,
    nodes: { upd: times(changed) },
  };
  const json = JSON.stringify(delta);
  measure("each: parse, check, apply 5%", () => store.apply(checkUpdate(JSON.parse(json))));
  measure("each: Tree.update", () => tree.update());
  measure("each: Icicle.layout by name, all", () => icicle.layout({ kinds: DEFAULT_KINDS, order: "name" }));
  const minWidth = 0.25 / 1440;
  measure("each: Icicle.layout by name, 1440 px", () =>
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name", minWidth }),
  );
  measure("each: Icicle.layout by width, 1440 px", () =>
    icicle.layout({ kinds: DEFAULT_KINDS, order: "width", minWidth }),
  );
  measure("each: FunctionStats.update", () => stats.update());
  measure("each: Search.result", () => search.result(DEFAULT_KINDS));
  tree.setHidden(round % 2 ? [5, 6] : []);
  if (round % 5 === 0) {
    tree.setScope("all");
    measure("scope changed: Tree.update", () => tree.update());
    tree.setHidden([]);
  }
}
for (const [name, list] of measured) {
  const sorted = list.toSorted((a, b) => a - b);
  const [least, median] = [sorted[0]!, sorted[sorted.length >> 1]!].map((ms) => ms.toFixed(2).padStart(7));
  console.log(`${name.padEnd(40)} least ${least} ms   median ${median} ms   of ${list.length}`);
}
