import type { NodeAdd, NodeUpd } from "@flamelet/protocol";
import { BadUpdate, checkId, growColumns, grown } from "./columns.ts";
import type { FunctionTable } from "./functions.ts";

const SUMS = ["calls", "seeded", "cpu", "blocked", "idle", "waited"] as const;
const COLUMNS = ["parent", "function", "group", "thread", "open", ...SUMS] as const;

/**
 * Nodes of the call trees by id: a function at one call path of one group on one thread. Times are own times.
 * Ids need not arrive in order, and with a tree of one group not all of them arrive.
 */
export class NodeTable {
  /** Ids are 1 to size - 1. */
  size = 1;
  /** How many are known; their ids in the order of arrival, parents before children. */
  count = 0;
  order: Int32Array = new Int32Array(256);
  /** Node id, 0 for a root. */
  parent: Int32Array = new Int32Array(256);
  /** Function id, 0 for a root. */
  function: Int32Array = new Int32Array(256);
  group: Int32Array = new Int32Array(256);
  /** Thread id; 0 for a node that is not known. */
  thread: Int32Array = new Int32Array(256);
  calls: Float64Array = new Float64Array(256);
  /** Frames that were entered before profiling was started: no calls. */
  seeded: Float64Array = new Float64Array(256);
  cpu: Float64Array = new Float64Array(256);
  blocked: Float64Array = new Float64Array(256);
  idle: Float64Array = new Float64Array(256);
  waited: Float64Array = new Float64Array(256);
  /** What tasks that are parked here have waited up to now, beside `waited`. Filled by the store. */
  open: Float64Array = new Float64Array(256);

  constructor(private readonly functions: FunctionTable) {}

  has(id: number): boolean {
    return id > 0 && id < this.size && this.thread[id] !== 0;
  }

  /** Function ids from the entry function to this node's. Empty for a root and for an id that is not known. */
  path(id: number): number[] {
    const path: number[] = [];
    for (let node = id; this.has(node) && this.function[node] !== 0; node = this.parent[node]!) {
      path.push(this.function[node]!);
    }
    return path.reverse();
  }

  /** 0 for a root and for an id that is not known. */
  depth(id: number): number {
    let depth = 0;
    for (let node = id; this.has(node) && this.parent[node] !== 0; node = this.parent[node]!) depth++;
    return depth;
  }

  /** Only the store calls this. */
  add(columns: NodeAdd): void {
    let largest = this.size - 1;
    columns.id.forEach((id, i) => {
      checkId(id, "nodes.add.id", i);
      largest = Math.max(largest, id);
    });
    growColumns(this, COLUMNS, largest + 1);
    this.order = grown(this.order, this.count + columns.id.length);
    this.size = largest + 1;
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      const parent = columns.parent[i]!;
      const fn = columns.function[i]!;
      if (this.has(id)) throw new BadUpdate(`nodes.add.id[${i}]: node ${id} was added before`);
      if (parent !== 0 && (parent >= id || !this.has(parent))) {
        throw new BadUpdate(`nodes.add.parent[${i}]: node ${parent} is not known before its child ${id}`);
      }
      if (fn >= this.functions.size)
        throw new BadUpdate(`nodes.add.function[${i}]: function ${fn} is not known`);
      if (columns.thread[i] === 0) throw new BadUpdate(`nodes.add.thread[${i}]: node ${id} is of no thread`);
      this.parent[id] = parent;
      this.function[id] = fn;
      this.group[id] = columns.group[i]!;
      this.thread[id] = columns.thread[i]!;
      this.order[this.count++] = id;
    }
  }

  /** Only the store calls this. */
  upd(columns: NodeUpd): void {
    const { id: ids, calls, seeded, cpu, blocked, idle, waited } = columns;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!;
      if (!this.has(id)) throw new BadUpdate(`nodes.upd.id[${i}]: node ${id} is not known`);
      this.calls[id] = calls[i]!;
      this.seeded[id] = seeded?.[i] ?? 0;
      this.cpu[id] = cpu[i]!;
      this.blocked[id] = blocked[i]!;
      this.idle[id] = idle[i]!;
      this.waited[id] = waited[i]!;
    }
  }
}
