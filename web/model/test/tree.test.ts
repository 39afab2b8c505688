import { Camera, Core, updateBetween } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { calleesOf, callersOf, DEFAULT_KINDS, FunctionStats, Search, Store, Tree } from "../src/index.ts";
import { idOf, Program } from "./build.ts";

function treeOf(program: Program): Tree {
  const tree = new Tree(program.tell());
  tree.update();
  return tree;
}

const names = (tree: Tree, nodes: Iterable<number>): string[] =>
  [...nodes].map((node) => tree.store.functions.qualnameOf(tree.function[node]!));

/** main > a > b (1 ms), main > a > c (2 ms), main > b (4 ms), each once. */
function small(): Program {
  const program = new Program().enter("main", "a", "b").cpu(1).leave().enter("c").cpu(2).leave(2);
  return program.enter("b").cpu(4).leave();
}

describe("Tree", () => {
  it("GIVEN two threads with the same paths WHEN they are merged THEN a path is one node", () => {
    const core = new Core();
    const f = core.addFunction("f", "f", "/app/a.py", 1);
    const g = core.addFunction("g", "g", "/app/a.py", 2);
    for (const thread of [core.attachThread(0, 1, "one"), core.attachThread(0, 2, "two")]) {
      core.enter(1, thread, f);
      core.enter(3, thread, g);
      core.leave(6, thread);
    }
    const store = new Store();
    store.apply(updateBetween(null, new Camera(core).take(10)));
    const tree = new Tree(store);
    tree.update();
    expect(tree.size).toBe(3);
    const node = tree.findPath([f, g]);
    expect(tree.calls[node]).toBe(2);
    expect(tree.ownTimes(node).cpu).toBe(6);
    expect(tree.totalTimes(tree.findPath([f])).cpu).toBe(2 * (2 + 3 + 4));
    expect(tree.own.cpu[0]).toBe(2);
  });

  it("GIVEN a tree WHEN nodes are added THEN the old ones keep their indices and the paths their keys", () => {
    const program = small();
    const store = program.tell();
    const tree = new Tree(store);
    tree.update();
    const before = Array.from({ length: tree.size }, (_, node) => tree.key(node));
    program.enter("a", "a0", "b").cpu(1);
    program.tell(store);
    expect(tree.update()).toBe(true);
    expect(tree.size).toBe(before.length + 2);
    before.forEach((key, node) => {
      expect(tree.key(node)).toBe(key);
      expect(tree.find(key)).toBe(node);
    });
    expect(tree.update()).toBe(false);
  });

  it("GIVEN keys of one session WHEN another session sees functions in another order THEN they still lead there", () => {
    const first = treeOf(small());
    const again = new Program();
    for (const fn of ["z", "c", "b", "a"]) again.fn(fn);
    const second = treeOf(again.enter("main", "a", "c").cpu(1));
    const key = first.key(first.findPath(["main", "a", "c"].map((name) => idOf(first.store, name))));
    expect(names(second, [second.find(key)])).toEqual(["c"]);
    expect(second.find(first.key(first.findPath(["main", "b"].map((name) => idOf(first.store, name)))))).toBe(
      -1,
    );
    expect(second.find("not a key")).toBe(-1);
    expect(second.find("[7]")).toBe(-1);
    expect(second.find("{}")).toBe(-1);
  });

  it("GIVEN a store that is reset WHEN the tree is updated THEN it is that of the new picture", () => {
    const program = small();
    const store = program.tell();
    const tree = new Tree(store);
    tree.update();
    const other = new Program().enter("other").cpu(3);
    store.apply(updateBetween(null, other.camera.take(3e6)));
    expect(tree.update()).toBe(true);
    expect(tree.size).toBe(2);
    expect(tree.totalTimes(0).cpu).toBe(3e6);
  });

  it("GIVEN children in any order of calls WHEN they are listed THEN they are in the order of names", () => {
    const tree = treeOf(
      new Program().enter("main", "z").leave().enter("b").leave().enter("a").leave().enter("c"),
    );
    expect(names(tree, tree.children(1))).toEqual(["a", "b", "c", "z"]);
  });

  it("GIVEN two groups WHEN the scope is one THEN only its nodes count, and nodes of others have no place", () => {
    const program = new Program();
    const main = program.thread.task;
    const task = program.enter("main").cpu(1).create();
    program.to(task).enter("work").cpu(2).to(main).cpu(4);
    const store = program.tell();
    const tree = new Tree(store);
    const work = store.tasks.group[store.tasks.rowOf(task.id)]!;
    tree.setScope([work]);
    tree.update();
    expect(names(tree, [1])).toEqual(["work"]);
    expect(tree.totalTimes(0).cpu).toBe(2e6);
    expect(tree.nodeOf(store.tasks.node[store.tasks.rowOf(main.id)]!)).toBe(-1);
    tree.setScope("all");
    tree.update();
    expect(tree.totalTimes(0).cpu).toBe(7e6);
  });

  it("GIVEN a hidden function WHEN it is hidden THEN it and all below leave totals, and are told apart", () => {
    const program = small();
    const tree = treeOf(program);
    const { store } = tree;
    const before = tree.key(tree.findPath([idOf(store, "main"), idOf(store, "b")]));
    tree.setHidden([idOf(store, "a")]);
    expect(tree.update()).toBe(true);
    expect(tree.totalTimes(0).cpu).toBe(4e6);
    expect(tree.hiddenTimes().cpu).toBe(3e6);
    expect(tree.hiddenTimes(idOf(store, "a")).cpu).toBe(3e6);
    expect(tree.hiddenTimes(idOf(store, "b")).cpu).toBe(0);
    expect(tree.find(before)).toBeGreaterThan(0);
    const stats = new FunctionStats(tree);
    stats.update();
    expect(names2(store, stats.ids)).toEqual(["main", "b"]);
    expect(stats.total.cpu[idOf(store, "b")]).toBe(4e6);
  });
});

const names2 = (store: Store, ids: Iterable<number>): string[] =>
  [...ids]
    .map((id) => store.functions.qualnameOf(id))
    .sort((a, b) => (a === "main" ? -1 : b === "main" ? 1 : a < b ? -1 : 1));

describe("functions under recursion", () => {
  // f > g > f > f, 1 ms in each; then h > g, 1 ms in g.
  const program = new Program()
    .enter("f")
    .cpu(1)
    .enter("g")
    .cpu(1)
    .enter("f")
    .cpu(1)
    .enter("f")
    .cpu(1)
    .leave(4);
  const tree = treeOf(program.enter("h", "g").cpu(1));
  const { store } = tree;
  const ms = (relations: { function: number; calls: number; total: { cpu: number } }[]): unknown[] =>
    relations.map((r) => [store.functions.qualnameOf(r.function), r.calls, r.total.cpu / 1e6]);

  it("WHEN totals are summed THEN each moment counts once", () => {
    const stats = new FunctionStats(tree);
    stats.update();
    const f = idOf(store, "f");
    const g = idOf(store, "g");
    expect([stats.calls[f], stats.own.cpu[f], stats.total.cpu[f]]).toEqual([3, 3e6, 4e6]);
    expect([stats.calls[g], stats.own.cpu[g], stats.total.cpu[g]]).toEqual([2, 2e6, 4e6]);
  });

  it("WHEN callers are listed THEN each edge counts each moment once", () => {
    expect(ms(callersOf(tree, idOf(store, "f")))).toEqual([
      ["", 1, 4],
      ["g", 1, 2],
      ["f", 1, 1],
    ]);
    expect(ms(callersOf(tree, idOf(store, "g")))).toEqual([
      ["f", 1, 3],
      ["h", 1, 1],
    ]);
  });

  it("WHEN callees are listed THEN each edge counts each moment once", () => {
    expect(ms(calleesOf(tree, idOf(store, "f")))).toEqual([
      ["g", 1, 3],
      ["f", 1, 1],
    ]);
    expect(calleesOf(tree, 999)).toEqual([]);
  });

  it("WHEN a caller repeats on a path THEN its edge is counted once", () => {
    // f > g > f > g: the edge f > g twice on one path.
    const twice = treeOf(new Program().enter("f", "g", "f", "g").cpu(1));
    const callers = callersOf(twice, idOf(twice.store, "g"));
    expect(callers.map((r) => [r.calls, r.total.cpu])).toEqual([[2, 1e6]]);
  });
});

describe("Search", () => {
  const program = new Program().enter(
    "main@/app/shop.py:1",
    "Pool.get@/app/pool.py:2",
    "Pool.wait@/app/pool.py:9",
  );
  const tree = treeOf(program.cpu(3).leave(2).enter("render@/app/page.py:3").cpu(1));
  const search = new Search(tree);
  const result = (query: string): unknown => {
    search.set(query);
    const { frames, share } = search.result(DEFAULT_KINDS);
    return [frames, share];
  };

  it("WHEN text is searched THEN names and files match in any case, and nested hits count once", () => {
    expect(result("pool.")).toEqual([2, 0.75]);
    expect(result("WAIT")).toEqual([1, 0.75]);
    expect(result("page.py")).toEqual([1, 0.25]);
    expect(result("nothing")).toEqual([0, 0]);
  });

  it("WHEN a regular expression is searched THEN it matches, and a broken one says why", () => {
    expect(result("/^(render|main)$/")).toEqual([2, 1]);
    expect(result("/(/")).toEqual([0, 0]);
    expect(search.error).toMatch(/Unterminated group|Invalid regular expression/);
    expect(result("/")).toEqual([4, 1]);
    expect(search.error).toBe("");
  });

  it("WHEN nothing is searched THEN nothing matches", () => {
    expect(result("  ")).toEqual([0, 0]);
    expect(search.active).toBe(false);
    expect(search.matchesFunction(1)).toBe(false);
  });

  it("WHEN matches are hidden THEN they do not count", () => {
    tree.setHidden([idOf(tree.store, "Pool.wait")]);
    tree.update();
    expect(result("pool")).toEqual([1, 0]);
    tree.setHidden([]);
    tree.update();
  });

  it("WHEN functions come later THEN they are searched too", () => {
    search.set("late");
    expect(search.result(DEFAULT_KINDS).frames).toBe(0);
    program.enter("too_late").cpu(1);
    program.tell(tree.store);
    tree.update();
    expect(search.result(DEFAULT_KINDS).frames).toBe(1);
  });
});
