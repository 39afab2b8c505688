import { counted, DEFAULT_KINDS, KINDS, type Kinds, type Times } from "./times.ts";
import type { Tree } from "./tree.ts";

/** One side of a call: a caller or a callee of a function. */
export interface Relation {
  /** 0: called by nobody that was seen, so it is an entry function. */
  function: number;
  calls: number;
  /** Of the called function on this edge, each moment once. With recursion, rows may overlap. */
  total: Times;
}

/** Who calls a function in the tree's scope, hidden frames left out; most of the counted kinds first. */
export function callersOf(tree: Tree, fn: number, kinds: Kinds = DEFAULT_KINDS): Relation[] {
  return relations(tree, kinds, (caller, callee) => (callee === fn ? caller : -1));
}

/** Whom a function calls in the tree's scope, hidden frames left out; most of the counted kinds first. */
export function calleesOf(tree: Tree, fn: number, kinds: Kinds = DEFAULT_KINDS): Relation[] {
  return relations(tree, kinds, (caller, callee) => (caller === fn ? callee : -1));
}

/** `side` says for an edge which function its row is of, -1: none. */
function relations(tree: Tree, kinds: Kinds, side: (caller: number, callee: number) => number): Relation[] {
  const rows = new Map<number, Relation>();
  for (let node = 1; node < tree.size; node++) {
    if (tree.hiddenBy[node] !== 0) continue;
    const other = side(tree.function[tree.parent[node]!]!, tree.function[node]!);
    if (other < 0) continue;
    let row = rows.get(other);
    if (row === undefined) {
      row = { function: other, calls: 0, total: { cpu: 0, blocked: 0, idle: 0, waited: 0 } };
      rows.set(other, row);
    }
    row.calls += tree.calls[node]!;
    if (tree.nested[node] === 0 || !belowSameEdge(tree, node)) {
      for (const kind of KINDS) row.total[kind] += tree.total[kind][node]!;
    }
  }
  return [...rows.values()].sort(
    (a, b) =>
      counted(b.total, kinds) - counted(a.total, kinds) || b.calls - a.calls || a.function - b.function,
  );
}

function belowSameEdge(tree: Tree, node: number): boolean {
  const callee = tree.function[node];
  const caller = tree.function[tree.parent[node]!];
  for (let above = tree.parent[node]!; above > 0; above = tree.parent[above]!) {
    if (tree.function[above] === callee && tree.function[tree.parent[above]!] === caller) return true;
  }
  return false;
}
