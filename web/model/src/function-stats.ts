import { growColumns, grown } from "./tables/columns.ts";
import { KINDS, type KindColumns } from "./times.ts";
import type { Tree } from "./tree.ts";

const floats = (): KindColumns => ({
  cpu: new Float64Array(16),
  blocked: new Float64Array(16),
  idle: new Float64Array(16),
  waited: new Float64Array(16),
});

/** Sums per function over a tree, hidden frames left out. All arrays are indexed by function id. */
export class FunctionStats {
  /** Functions that occur, in order of id. */
  ids: Int32Array = new Int32Array(0);
  calls: Float64Array = new Float64Array(16);
  /** Frames that were entered before profiling was started: no calls. */
  seeded: Float64Array = new Float64Array(16);
  readonly own: KindColumns = floats();
  /** Counts each moment once: a frame below another of the same function adds nothing. */
  readonly total: KindColumns = floats();
  private revision = -1;

  constructor(private readonly tree: Tree) {}

  /** Reads the tree again. */
  update(): void {
    const { tree } = this;
    if (tree.revision === this.revision) return;
    this.revision = tree.revision;
    const functions = tree.store.functions.size;
    this.calls = grown(this.calls, functions).fill(0);
    this.seeded = grown(this.seeded, functions).fill(0);
    growColumns(this.own, KINDS, functions);
    growColumns(this.total, KINDS, functions);
    const occurs = new Uint8Array(functions);
    for (let node = 1; node < tree.size; node++) {
      if (tree.hiddenBy[node] !== 0) continue;
      const fn = tree.function[node]!;
      occurs[fn] = 1;
      this.calls[fn]! += tree.calls[node]!;
      this.seeded[fn]! += tree.seeded[node]!;
    }
    for (const kind of KINDS) {
      const own = this.own[kind].fill(0);
      const total = this.total[kind].fill(0);
      const nodeOwn = tree.own[kind];
      const nodeTotal = tree.total[kind];
      for (let node = 1; node < tree.size; node++) {
        if (tree.hiddenBy[node] !== 0) continue;
        const fn = tree.function[node]!;
        own[fn]! += nodeOwn[node]!;
        if (tree.nested[node] === 0) total[fn]! += nodeTotal[node]!;
      }
    }
    const ids: number[] = [];
    for (let fn = 1; fn < functions; fn++) if (occurs[fn] === 1) ids.push(fn);
    this.ids = Int32Array.from(ids);
  }
}
