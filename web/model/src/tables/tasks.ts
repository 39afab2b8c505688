import type { TaskAdd, TaskUpd } from "@flamelet/protocol";
import { type Times, timesAt } from "../times.ts";
import { BadUpdate, growColumns } from "./columns.ts";
import type { GroupTable } from "./groups.ts";
import type { StringTable } from "./strings.ts";

const UPDATED = [
  ...(["name", "group", "state", "node", "wait", "since", "switches"] as const),
  ...(["cpu", "blocked", "idle", "waited", "longest"] as const),
] as const;
const COLUMNS = ["id", "thread", "begin", "hub", "open", ...UPDATED] as const;

/** Tasks. Rows are 0 to size - 1; a deleted task's row is taken by the last one, so keep ids and not rows. */
export class TaskTable {
  size = 0;
  id: Int32Array = new Int32Array(64);
  /** Thread id. */
  thread: Int32Array = new Int32Array(64);
  begin: Float64Array = new Float64Array(64);
  /** 1: it is a hub. */
  hub: Uint8Array = new Uint8Array(64);
  /** String id, 0: none of its own. */
  name: Int32Array = new Int32Array(64);
  /** Group id, 0: before its first call. */
  group: Int32Array = new Int32Array(64);
  /** TaskState */
  state: Uint8Array = new Uint8Array(64);
  /** Where it is, or was parked: node id. */
  node: Int32Array = new Int32Array(64);
  /** The call it waits in: string id, 0 where that is not known. */
  wait: Int32Array = new Int32Array(64);
  /** Instant at which its state began. */
  since: Float64Array = new Float64Array(64);
  switches: Float64Array = new Float64Array(64);
  cpu: Float64Array = new Float64Array(64);
  blocked: Float64Array = new Float64Array(64);
  idle: Float64Array = new Float64Array(64);
  waited: Float64Array = new Float64Array(64);
  /** What a parked task has waited since `since`, up to now, beside `waited`; else 0. Filled by the store. */
  open: Float64Array = new Float64Array(64);
  longest: Float64Array = new Float64Array(64);
  private readonly rows = new Map<number, number>();

  constructor(
    private readonly strings: StringTable,
    private readonly groups: GroupTable,
  ) {}

  /** -1: unknown. */
  rowOf(id: number): number {
    return this.rows.get(id) ?? -1;
  }

  /** Its own name, else its group's, else "task". Without the id. */
  nameOf(row: number): string {
    return this.strings.get(this.name[row] ?? 0) || this.groups.nameOf(this.group[row] ?? 0) || "task";
  }

  /** Up to now: their sum is the task's lifetime. */
  times(row: number): Times {
    const times = timesAt(this, row);
    times.waited += this.open[row] ?? 0;
    return times;
  }

  lifetime(row: number): number {
    const { cpu, blocked, idle, waited } = this.times(row);
    return cpu + blocked + idle + waited;
  }

  /** Only the store calls this. */
  add(columns: TaskAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (this.rows.has(id)) throw new BadUpdate(`tasks.add.id[${i}]: task ${id} was added before`);
      const row = this.size++;
      growColumns(this, COLUMNS, this.size);
      this.rows.set(id, row);
      // The row may have been another task's: nothing of it may stay.
      for (const name of COLUMNS) this[name][row] = 0;
      this.id[row] = id;
      for (const name of ["thread", "begin", "hub"] as const) this[name][row] = columns[name][i]!;
    }
  }

  /** Only the store calls this. */
  upd(columns: TaskUpd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const row = this.rowOf(columns.id[i]!);
      if (row < 0) throw new BadUpdate(`tasks.upd.id[${i}]: task ${columns.id[i]} is not known`);
      for (const name of UPDATED) this[name][row] = columns[name][i]!;
    }
  }

  /** Only the store calls this. */
  del(ids: readonly number[]): void {
    ids.forEach((id, i) => {
      const row = this.rowOf(id);
      if (row < 0) throw new BadUpdate(`tasks.del[${i}]: task ${id} is not known`);
      this.rows.delete(id);
      const last = --this.size;
      if (row === last) return;
      for (const name of COLUMNS) this[name][row] = this[name][last]!;
      this.rows.set(this.id[row]!, row);
    });
  }
}
