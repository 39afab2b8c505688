import { grown } from "./tables/columns.ts";
import { KINDS, type Kinds } from "./times.ts";
import type { Tree } from "./tree.ts";

/** Children beside each other by name, or the widest first. */
export type Order = "name" | "width";

export interface IcicleOptions {
  kinds: Kinds;
  order: Order;
  /** Part of the root's width to lay out; default 0 to 1. The span() of the zoomed node, or what a pan shows. */
  from?: number;
  to?: number;
  /** Boxes narrower than this share of the root's width are left out with all below; default: only empty ones. */
  minWidth?: number;
}

/**
 * Boxes of the flame view, row by row: row r has the nodes of depth r. x and w are shares of the root's counted total,
 * so a zoom is a window [from, to], and an animation moves only that window. In a row boxes are sorted by x and do not
 * overlap.
 */
export class Icicle {
  /** Counted total of the root, ns. */
  total = 0;
  rows = 0;
  /** Boxes are 0 to size - 1. */
  size = 0;
  /** Boxes of row r are rowStart[r] to rowStart[r + 1] - 1. */
  rowStart: Int32Array = new Int32Array(16);
  node: Int32Array = new Int32Array(256);
  x: Float64Array = new Float64Array(256);
  w: Float64Array = new Float64Array(256);
  /** The box's row. */
  depth: Int32Array = new Int32Array(256);
  private weight: Float64Array = new Float64Array(256);
  private boxes: Int32Array = new Int32Array(256);
  private childStart: Int32Array = new Int32Array(1);
  private childList: Int32Array = new Int32Array(0);
  private order: Order = "name";

  constructor(readonly tree: Tree) {}

  layout(options: IcicleOptions): void {
    const { from = 0, to = 1, minWidth = 0 } = options;
    this.order = options.order;
    this.weigh(options.kinds);
    const most = this.tree.size;
    this.boxes = grown(this.boxes, most).fill(-1);
    this.node = grown(this.node, most);
    this.depth = grown(this.depth, most);
    this.x = grown(this.x, most);
    this.w = grown(this.w, most);
    const { start, list } = this.tree.childLists();
    this.childStart = start;
    this.childList = list;
    this.size = 0;
    this.rows = 0;
    this.push(0, 0, 1);
    let begin = 0;
    while (begin < this.size) {
      const end = this.size;
      this.rowStart = grown(this.rowStart, this.rows + 2);
      this.rowStart[this.rows++] = begin;
      this.rowStart[this.rows] = end;
      for (let box = begin; box < end; box++) this.layoutChildren(box, from, to, minWidth);
      begin = end;
    }
  }

  /** First box and last + 1 of a row that touch [x0, x1]; equal when there is none. */
  visible(row: number, x0: number, x1: number): [number, number] {
    if (row < 0 || row >= this.rows) return [0, 0];
    const begin = this.rowStart[row]!;
    const end = this.rowStart[row + 1]!;
    const first = this.search(begin, end, (box) => this.x[box]! + this.w[box]! >= x0);
    return [first, this.search(first, end, (box) => this.x[box]! > x1)];
  }

  /** Box at a place, -1: none. */
  hit(row: number, x: number): number {
    if (row < 0 || row >= this.rows) return -1;
    const begin = this.rowStart[row]!;
    const box = this.search(begin, this.rowStart[row + 1]!, (b) => this.x[b]! > x) - 1;
    return box >= begin && x < this.x[box]! + this.w[box]! ? box : -1;
  }

  /** Box of a node, -1: it is not laid out. */
  boxOf(node: number): number {
    return node >= 0 && node < this.tree.size ? (this.boxes[node] ?? -1) : -1;
  }

  /** Where a node lies under the options of the last layout(), also when it was left out; w 0: it counts nothing. */
  span(node: number): { x: number; w: number } {
    if (node <= 0) return { x: 0, w: 1 };
    const { tree, weight } = this;
    const own = weight[node] ?? 0;
    if (this.total === 0 || own === 0) return { x: 0, w: 0 };
    let before = 0;
    for (let n = node; n > 0; n = tree.parent[n]!) {
      const width = weight[n]!;
      let passed = false;
      for (const sibling of tree.children(tree.parent[n]!)) {
        if (sibling === n) passed = true;
        else if (
          this.order === "name" ? !passed : weight[sibling]! > width || (weight[sibling] === width && !passed)
        ) {
          before += weight[sibling]!;
        }
      }
    }
    return { x: before / this.total, w: own / this.total };
  }

  private weigh(kinds: Kinds): void {
    const { tree } = this;
    this.weight = grown(this.weight, tree.size).fill(0);
    const { weight } = this;
    for (const kind of KINDS) {
      if (!kinds[kind]) continue;
      const total = tree.total[kind];
      for (let node = 0; node < tree.size; node++) weight[node]! += total[node]!;
    }
    for (let node = 0; node < tree.size; node++) if (tree.hiddenBy[node] !== 0) weight[node] = 0;
    this.total = weight[0]!;
  }

  private layoutChildren(box: number, from: number, to: number, minWidth: number): void {
    const { weight, total, childList } = this;
    if (total === 0) return;
    const node = this.node[box]!;
    const end = this.childStart[node + 1]!;
    let x = this.x[box]!;
    if (this.order === "width") {
      for (const child of this.widestFirst(node, minWidth * total)) {
        x = this.place(child, x, weight[child]! / total, from, to, minWidth);
      }
      return;
    }
    for (let i = this.childStart[node]!; i < end && x <= to; i++) {
      const child = childList[i]!;
      x = this.place(child, x, weight[child]! / total, from, to, minWidth);
    }
  }

  /** A box, unless it is too narrow or outside; returns where the next one begins. */
  private place(node: number, x: number, w: number, from: number, to: number, minWidth: number): number {
    if (w > 0 && w >= minWidth && x <= to && x + w >= from) this.push(node, x, w);
    return x + w;
  }

  /** Children that are wide enough; equal ones stay in the order of their names. */
  private widestFirst(node: number, least: number): number[] {
    const { weight, childList } = this;
    const wide: number[] = [];
    for (let i = this.childStart[node]!; i < this.childStart[node + 1]!; i++) {
      const child = childList[i]!;
      if (weight[child]! > 0 && weight[child]! >= least) wide.push(child);
    }
    return wide.sort((a, b) => weight[b]! - weight[a]!);
  }

  private push(node: number, x: number, w: number): void {
    const box = this.size++;
    this.node[box] = node;
    this.depth[box] = this.tree.depth[node]!;
    this.x[box] = x;
    this.w[box] = w;
    this.boxes[node] = box;
  }

  /** First box in [low, high) for which `test` holds; it must hold for all after it. */
  private search(low: number, high: number, test: (box: number) => boolean): number {
    let begin = low;
    let end = high;
    while (begin < end) {
      const middle = (begin + end) >> 1;
      if (test(middle)) end = middle;
      else begin = middle + 1;
    }
    return begin;
  }
}
