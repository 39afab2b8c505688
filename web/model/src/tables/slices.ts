import type { SliceAdd } from "@flamelet/protocol";
import { BadUpdate, growColumns } from "./columns.ts";

const SENT = ["id", "thread", "task", "group", "node", "begin", "end", "cpu", "blocked", "idle"] as const;
const COLUMNS = [...SENT, "gil", "gilHolder", "gilNode"] as const;
const KEPT = 4096;

/** Long slices that are over. Rows are 0 to size - 1, oldest first; at least the newest 4,096 are kept. */
export class SliceTable {
  size = 0;
  id: Int32Array = new Int32Array(256);
  thread: Int32Array = new Int32Array(256);
  task: Int32Array = new Int32Array(256);
  group: Int32Array = new Int32Array(256);
  /** Where most of it was spent: node id. */
  node: Int32Array = new Int32Array(256);
  begin: Float64Array = new Float64Array(256);
  end: Float64Array = new Float64Array(256);
  cpu: Float64Array = new Float64Array(256);
  blocked: Float64Array = new Float64Array(256);
  idle: Float64Array = new Float64Array(256);
  /** How long it waited for the GIL meanwhile, ns, an estimate. */
  gil: Float64Array = new Float64Array(256);
  /** Thread id and node id of who held it last; 0: not known. */
  gilHolder: Int32Array = new Int32Array(256);
  gilNode: Int32Array = new Int32Array(256);

  /** -1: unknown, or no longer kept. */
  rowOf(id: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.id[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return low < this.size && this.id[low] === id ? low : -1;
  }

  /** Only the store calls this. */
  add(columns: SliceAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (this.size > 0 && id <= this.id[this.size - 1]!) {
        throw new BadUpdate(`slices.add.id[${i}]: ${id} does not follow ${this.id[this.size - 1]}`);
      }
      // Dropped in large steps, so that a row costs a copy now and then and not each time.
      if (this.size === KEPT + 256) {
        for (const name of COLUMNS) this[name].copyWithin(0, 256, this.size);
        this.size -= 256;
      }
      growColumns(this, COLUMNS, this.size + 1);
      for (const name of SENT) this[name][this.size] = columns[name][i]!;
      this.gil[this.size] = columns.gil?.[i] ?? 0;
      this.gilHolder[this.size] = columns.gil_holder?.[i] ?? 0;
      this.gilNode[this.size] = columns.gil_node?.[i] ?? 0;
      this.size++;
    }
  }
}
