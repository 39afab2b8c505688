import type { HoldAdd, HoldUpd } from "@flamelet/protocol";
import { BadUpdate, checkId, growColumns } from "./columns.ts";

const SUMS = ["count", "cpu", "blocked", "longest"] as const;
const COLUMNS = ["thread", "function", ...SUMS] as const;

/** Who had a hub for long: long slices by the function in which most of each was spent. Indexed by id, from 1 on. */
export class HoldTable {
  /** Ids are 1 to size - 1. */
  size = 1;
  /** Thread id; 0: no such row. */
  thread: Int32Array = new Int32Array(16);
  /** Function id; 0: all those without a row of their own. */
  function: Int32Array = new Int32Array(16);
  count: Float64Array = new Float64Array(16);
  cpu: Float64Array = new Float64Array(16);
  blocked: Float64Array = new Float64Array(16);
  /** cpu + blocked of a single slice. */
  longest: Float64Array = new Float64Array(16);

  has(id: number): boolean {
    return id > 0 && id < this.size && this.thread[id] !== 0;
  }

  /** Ids, the longest slice first. */
  ids(): number[] {
    const ids: number[] = [];
    for (let id = 1; id < this.size; id++) if (this.has(id)) ids.push(id);
    return ids.sort((a, b) => this.longest[b]! - this.longest[a]! || a - b);
  }

  /** Only the store calls this. */
  add(columns: HoldAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      checkId(id, "holds.add.id", i);
      if (this.has(id)) throw new BadUpdate(`holds.add.id[${i}]: row ${id} was added before`);
      if (columns.thread[i] === 0) throw new BadUpdate(`holds.add.thread[${i}]: row ${id} is of no thread`);
      growColumns(this, COLUMNS, id + 1);
      this.size = Math.max(this.size, id + 1);
      this.thread[id] = columns.thread[i]!;
      this.function[id] = columns.function[i]!;
    }
  }

  /** Only the store calls this. */
  upd(columns: HoldUpd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (!this.has(id)) throw new BadUpdate(`holds.upd.id[${i}]: row ${id} is not known`);
      for (const name of SUMS) this[name][id] = columns[name][i]!;
    }
  }
}
