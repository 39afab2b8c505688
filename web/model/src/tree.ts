import type { Store } from "./store.ts";
import { growColumns, grown } from "./tables/columns.ts";
import { KINDS, type Kind, type KindColumns, type Kinds, type Times, timesAt } from "./times.ts";

/** "all", or the ids of groups. */
export type Scope = "all" | readonly number[];

const COLUMNS = ["parent", "function", "depth", "hiddenBy", "nested", "calls", "seeded"] as const;
const floats = (): KindColumns => ({
  cpu: new Float64Array(256),
  blocked: new Float64Array(256),
  idle: new Float64Array(256),
  waited: new Float64Array(256),
});

/**
 * The call tree of a scope: nodes of the store with the same function path, of whatever thread and group, are one node.
 * Node 0 is the root (function 0): what tasks did before their first call. A parent's index is smaller than its
 * children's. An index stays valid until the scope changes or the store forgets everything; key() and find() carry a
 * node over both.
 */
export class Tree {
  /** Nodes are 0 to size - 1. */
  size = 0;
  /** -1 for the root. */
  parent: Int32Array = new Int32Array(256);
  function: Int32Array = new Int32Array(256);
  depth: Int32Array = new Int32Array(256);
  /** The hidden function, its own or an ancestor's, that hides the node; 0: shown. */
  hiddenBy: Int32Array = new Int32Array(256);
  /** 1: an ancestor has the same function, so its total is in that one's. */
  nested: Uint8Array = new Uint8Array(256);
  calls: Float64Array = new Float64Array(256);
  /** Frames that were entered before profiling was started: no calls. */
  seeded: Float64Array = new Float64Array(256);
  readonly own: KindColumns = floats();
  /** Of the node and all below it, hidden nodes left out. Of a hidden node: what it would be. */
  readonly total: KindColumns = floats();
  /** Changes whenever update() changed something. */
  revision = 0;
  private currentScope: Scope = "all";
  private scoped: ReadonlySet<number> | null = null;
  private hiddenFunctions: ReadonlySet<number> = new Set();
  private hiddenSums = new Map<number, Times>();
  /** Tree node of each node of the store, by id, -1: not in the scope. */
  private nodeIndex: Int32Array = new Int32Array(256);
  /** How many nodes of the store, in order of arrival, have been looked at. */
  private seen = 0;
  /** Open addressing: tree node + 1 by (parent, function); 0: free. */
  private table: Int32Array = new Int32Array(1024);
  private childStart: Int32Array = new Int32Array(1);
  private childList: Int32Array = new Int32Array(0);
  /** For which tree and function names the child lists stand. */
  private childrenOf = { size: -1, functions: -1 };
  private generation = -1;
  private version = -1;
  private stale = true;

  constructor(readonly store: Store) {
    this.clear();
  }

  get scope(): Scope {
    return this.currentScope;
  }

  setScope(scope: Scope): void {
    this.currentScope = scope;
    this.scoped = scope === "all" ? null : new Set(scope);
    this.clear();
  }

  /** Functions whose frames, with all below them, count nothing. */
  get hidden(): ReadonlySet<number> {
    return this.hiddenFunctions;
  }

  /** Indices of nodes stay valid. */
  setHidden(functions: Iterable<number>): void {
    this.hiddenFunctions = new Set(functions);
    this.stale = true;
  }

  /** Reads the store again: after its apply(), after setScope() and setHidden(). False when nothing changed. */
  update(): boolean {
    const { store } = this;
    if (store.generation !== this.generation) this.clear();
    if (!this.stale && store.version === this.version) return false;
    this.generation = store.generation;
    this.version = store.version;
    this.stale = false;
    this.revision++;
    this.addNodes();
    this.sumOwn();
    this.markHidden();
    this.sumTotals();
    return true;
  }

  /** Time that hidden frames keep from the root: of one function, or of all. */
  hiddenTimes(fn?: number): Times {
    const sum: Times = { cpu: 0, blocked: 0, idle: 0, waited: 0 };
    for (const [id, times] of this.hiddenSums) {
      if (fn === undefined || fn === id) for (const kind of KINDS) sum[kind] += times[kind];
    }
    return sum;
  }

  ownTimes(node: number): Times {
    return timesAt(this.own, node);
  }

  totalTimes(node: number): Times {
    return timesAt(this.total, node);
  }

  ownOf(node: number, kinds: Kinds): number {
    return this.sum(this.own, node, kinds);
  }

  totalOf(node: number, kinds: Kinds): number {
    return this.sum(this.total, node, kinds);
  }

  private sum(columns: KindColumns, node: number, kinds: Kinds): number {
    let sum = 0;
    for (const kind of KINDS) if (kinds[kind]) sum += columns[kind][node] ?? 0;
    return sum;
  }

  /** Children in the order of their names. Valid until the next update(). */
  children(node: number): Int32Array {
    const { start, list } = this.childLists();
    return list.subarray(start[node] ?? 0, start[node + 1] ?? 0);
  }

  /** The same of all nodes: those of n are list[start[n]] to list[start[n + 1] - 1]. */
  childLists(): { start: Int32Array; list: Int32Array } {
    this.orderChildren();
    return { start: this.childStart, list: this.childList };
  }

  /** Function ids from the entry function to this node's. */
  path(node: number): number[] {
    const path: number[] = [];
    for (let n = node; n > 0; n = this.parent[n]!) path.push(this.function[n]!);
    return path.reverse();
  }

  /** A text made of names: the same after a reset, and in another session of the same program. */
  key(node: number): string {
    return JSON.stringify(this.path(node).map((fn) => this.store.functions.keyOf(fn)));
  }

  /** Node of a key, -1: not there (yet). */
  find(key: string): number {
    let path: unknown;
    try {
      path = JSON.parse(key);
    } catch {
      return -1; // keys come from the page's address, so they can be anything
    }
    if (!Array.isArray(path)) return -1;
    return this.findPath(
      path.map((name) => (typeof name === "string" ? this.store.functions.find(name) : 0)),
    );
  }

  /** Node of a function path, -1: not there (yet). */
  findPath(functions: readonly number[]): number {
    let node = 0;
    for (const fn of functions) {
      if (fn === 0) return -1;
      const found = this.table[this.slot(node, fn)]!;
      if (found === 0) return -1;
      node = found - 1;
    }
    return node;
  }

  /** Tree node of a node of the store, -1 where it is not in the scope. */
  nodeOf(storeNode: number): number {
    return this.store.nodes.has(storeNode) ? (this.nodeIndex[storeNode] ?? -1) : -1;
  }

  private clear(): void {
    this.size = 1;
    this.parent[0] = -1;
    this.function[0] = 0;
    this.depth[0] = 0;
    this.hiddenBy[0] = 0;
    this.nested[0] = 0;
    this.seen = 0;
    this.table.fill(0);
    this.childrenOf = { size: -1, functions: -1 };
    this.stale = true;
  }

  /** Where (parent, function) is in the hash table, or where it would be put. */
  private slot(parent: number, fn: number): number {
    const mask = this.table.length - 1;
    let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b)) & mask;
    for (;;) {
      const found = this.table[slot]!;
      if (found === 0 || (this.parent[found - 1] === parent && this.function[found - 1] === fn)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private addNodes(): void {
    const { nodes } = this.store;
    this.nodeIndex = grown(this.nodeIndex, nodes.size);
    const most = this.size + nodes.count - this.seen;
    growColumns(this, COLUMNS, most);
    growColumns(this.own, KINDS, most);
    growColumns(this.total, KINDS, most);
    for (; this.seen < nodes.count; this.seen++) {
      const id = nodes.order[this.seen]!;
      if (this.scoped !== null && !this.scoped.has(nodes.group[id]!)) this.nodeIndex[id] = -1;
      else if (nodes.parent[id] === 0) this.nodeIndex[id] = 0;
      else this.nodeIndex[id] = this.child(this.nodeIndex[nodes.parent[id]!]!, nodes.function[id]!);
    }
  }

  private child(parent: number, fn: number): number {
    const slot = this.slot(parent, fn);
    const found = this.table[slot]!;
    if (found !== 0) return found - 1;
    const node = this.size++;
    this.parent[node] = parent;
    this.function[node] = fn;
    this.depth[node] = this.depth[parent]! + 1;
    let above = parent;
    while (above > 0 && this.function[above] !== fn) above = this.parent[above]!;
    this.nested[node] = above > 0 ? 1 : 0;
    this.table[slot] = node + 1;
    if (this.size * 2 > this.table.length) {
      this.table = new Int32Array(this.table.length * 2);
      for (let n = 1; n < this.size; n++) this.table[this.slot(this.parent[n]!, this.function[n]!)] = n + 1;
    }
    return node;
  }

  private sumOwn(): void {
    const { nodes } = this.store;
    const { nodeIndex, size } = this;
    const { cpu, blocked, idle, waited } = this.own;
    const calls = this.calls.fill(0, 0, size);
    const seeded = this.seeded.fill(0, 0, size);
    for (const kind of KINDS) this.own[kind].fill(0, 0, size);
    for (let i = 0; i < nodes.count; i++) {
      const id = nodes.order[i]!;
      const node = nodeIndex[id]!;
      if (node < 0) continue;
      calls[node]! += nodes.calls[id]!;
      seeded[node]! += nodes.seeded[id]!;
      cpu[node]! += nodes.cpu[id]!;
      blocked[node]! += nodes.blocked[id]!;
      idle[node]! += nodes.idle[id]!;
      waited[node]! += nodes.waited[id]! + nodes.open[id]!;
    }
  }

  private markHidden(): void {
    const { hiddenBy, parent, hiddenFunctions } = this;
    const fns = this.function;
    for (let node = 1; node < this.size; node++) {
      const fn = fns[node]!;
      hiddenBy[node] = hiddenBy[parent[node]!] || (hiddenFunctions.has(fn) ? fn : 0);
    }
  }

  private sumTotals(): void {
    const { parent, hiddenBy, own, total, size } = this;
    this.hiddenSums = new Map();
    for (const kind of KINDS) {
      const sums = total[kind];
      sums.set(own[kind].subarray(0, size));
      // Children come after their parents, so a child's sum is complete when its turn comes.
      for (let node = size - 1; node > 0; node--) {
        const above = parent[node]!;
        if (hiddenBy[node] !== 0 && hiddenBy[above] === 0) this.addHidden(hiddenBy[node]!, kind, sums[node]!);
        else sums[above]! += sums[node]!;
      }
    }
  }

  private addHidden(fn: number, kind: Kind, time: number): void {
    let times = this.hiddenSums.get(fn);
    if (times === undefined) {
      times = { cpu: 0, blocked: 0, idle: 0, waited: 0 };
      this.hiddenSums.set(fn, times);
    }
    times[kind] += time;
  }

  /** Two counting sorts: nodes by the rank of their functions, then, keeping that order, by their parents. */
  private orderChildren(): void {
    const { size, parent } = this;
    const { functions } = this.store;
    if (this.childrenOf.size === size && this.childrenOf.functions === functions.size) return;
    this.childrenOf = { size, functions: functions.size };
    const fns = this.function;
    const rank = functions.rank();
    const byRank = new Int32Array(functions.size + 1);
    for (let node = 1; node < size; node++) byRank[rank[fns[node]!]! + 1]!++;
    for (let r = 0; r < functions.size; r++) byRank[r + 1]! += byRank[r]!;
    const ordered = new Int32Array(Math.max(0, size - 1));
    for (let node = 1; node < size; node++) ordered[byRank[rank[fns[node]!]!]!++] = node;

    this.childStart = new Int32Array(size + 1);
    for (let node = 1; node < size; node++) this.childStart[parent[node]! + 1]!++;
    for (let node = 0; node < size; node++) this.childStart[node + 1]! += this.childStart[node]!;
    const next = this.childStart.slice();
    this.childList = new Int32Array(Math.max(0, size - 1));
    for (const node of ordered) this.childList[next[parent[node]!]!++] = node;
  }
}
