import type { GilAdd, GilUpd } from "@flamelet/protocol";
import { BadUpdate, checkId, growColumns } from "./columns.ts";

const COLUMNS = ["thread", "task", "holder", "node", "holderNode", "looks", "waited"] as const;

/** Who waited for the GIL, and who held it meanwhile: estimates from the server's looks. Indexed by id, from 1 on. */
export class GilTable {
  /** Ids are 1 to size - 1. */
  size = 1;
  /** Thread id of who waited; 0: no such row. */
  thread: Int32Array = new Int32Array(16);
  /** Task id; 0: all other tasks of the thread. */
  task: Int32Array = new Int32Array(16);
  /** Thread id of who held it; 0: one that is not profiled. */
  holder: Int32Array = new Int32Array(16);
  /** Node ids: where it mostly waited, where the holder mostly was. */
  node: Int32Array = new Int32Array(16);
  holderNode: Int32Array = new Int32Array(16);
  looks: Float64Array = new Float64Array(16);
  /** ns */
  waited: Float64Array = new Float64Array(16);

  has(id: number): boolean {
    return id > 0 && id < this.size && this.thread[id] !== 0;
  }

  /** Ids, the longest wait first; `task` 0: of all tasks. */
  ids(task = 0): number[] {
    const ids: number[] = [];
    for (let id = 1; id < this.size; id++) {
      if (this.has(id) && this.waited[id]! > 0 && (task === 0 || this.task[id] === task)) ids.push(id);
    }
    return ids.sort((a, b) => this.waited[b]! - this.waited[a]! || a - b);
  }

  /** Only the store calls this. */
  add(columns: GilAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      checkId(id, "gil.add.id", i);
      if (this.has(id)) throw new BadUpdate(`gil.add.id[${i}]: row ${id} was added before`);
      if (columns.thread[i] === 0) throw new BadUpdate(`gil.add.thread[${i}]: row ${id} is of no thread`);
      growColumns(this, COLUMNS, id + 1);
      this.size = Math.max(this.size, id + 1);
      for (const name of ["thread", "task", "holder"] as const) this[name][id] = columns[name][i]!;
    }
  }

  /** Only the store calls this. */
  upd(columns: GilUpd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (!this.has(id)) throw new BadUpdate(`gil.upd.id[${i}]: row ${id} is not known`);
      this.node[id] = columns.node[i]!;
      this.holderNode[id] = columns.holder_node[i]!;
      this.looks[id] = columns.looks[i]!;
      this.waited[id] = columns.waited[i]!;
    }
  }
}
