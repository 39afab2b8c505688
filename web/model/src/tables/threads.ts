import type { ThreadAdd, ThreadUpd } from "@flamelet/protocol";
import { BadUpdate, growColumns } from "./columns.ts";
import type { StringTable } from "./strings.ts";

const COLUMNS = [
  ...(["id", "tid", "begin", "name", "state", "hub", "task", "node", "since", "slice"] as const),
  ...(["sliceCpu", "sliceBlocked", "sliceIdle", "cpu", "blocked", "idle", "end", "cost"] as const),
  ...(["sliceNode", "gilWait", "gilHolder"] as const),
] as const;

/** OS threads. Rows are 0 to size - 1 in the order of appearance; they move up when an ended one is deleted: keep ids. */
export class ThreadTable {
  size = 0;
  id: Int32Array = new Int32Array(8);
  /** The system's id. */
  tid: Float64Array = new Float64Array(8);
  begin: Float64Array = new Float64Array(8);
  /** String id. */
  name: Int32Array = new Int32Array(8);
  /** ThreadState */
  state: Uint8Array = new Uint8Array(8);
  /** Task id of its hub, 0: none known. */
  hub: Int32Array = new Int32Array(8);
  /** Task and node that are current. */
  task: Int32Array = new Int32Array(8);
  node: Int32Array = new Int32Array(8);
  /** Instant of the last event: call, return or switch. */
  since: Float64Array = new Float64Array(8);
  /** Instant of the last switch, where the current slice began; the next three are of that slice. */
  slice: Float64Array = new Float64Array(8);
  sliceCpu: Float64Array = new Float64Array(8);
  sliceBlocked: Float64Array = new Float64Array(8);
  sliceIdle: Float64Array = new Float64Array(8);
  /** Node where most of the slice was spent so far; 0: not known. */
  sliceNode: Int32Array = new Int32Array(8);
  /** Totals up to now. */
  cpu: Float64Array = new Float64Array(8);
  blocked: Float64Array = new Float64Array(8);
  idle: Float64Array = new Float64Array(8);
  /** 0 while it lives. */
  end: Float64Array = new Float64Array(8);
  /** What flamelet itself took of the thread, an estimate; 0: not known. */
  cost: Float64Array = new Float64Array(8);
  /** 1: it waited for the GIL when it was looked at last. */
  gilWait: Uint8Array = new Uint8Array(8);
  /** Thread id of who held the GIL then; 0: nobody that is profiled. */
  gilHolder: Int32Array = new Int32Array(8);
  private readonly rows = new Map<number, number>();
  /** Thread ids in the order in which they got a hub, deleted ones included, so that names of hubs stay. */
  private readonly hubs: number[] = [];

  constructor(private readonly strings: StringTable) {}

  /** -1: unknown. */
  rowOf(id: number): number {
    return this.rows.get(id) ?? -1;
  }

  nameOf(row: number): string {
    return this.strings.get(this.name[row] ?? 0);
  }

  /** "hub 1", "hub 2", in the order in which threads got a hub; "" without one. */
  hubName(row: number): string {
    const index = this.hubs.indexOf(this.id[row] ?? 0);
    return index < 0 ? "" : `hub ${index + 1}`;
  }

  /** "hub 1", "thread pool-1": how a sentence names a thread. */
  called(id: number): string {
    const row = this.rowOf(id);
    if (id === 0) return "a thread that is not profiled";
    if (row < 0) return "a thread that has ended";
    return this.hubName(row) || `thread ${this.nameOf(row) || this.tid[row]}`;
  }

  /** Only the store calls this. */
  add(columns: ThreadAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (this.rows.has(id)) throw new BadUpdate(`threads.add.id[${i}]: thread ${id} was added before`);
      const row = this.size++;
      growColumns(this, COLUMNS, this.size);
      this.rows.set(id, row);
      this.id[row] = id;
      this.tid[row] = columns.tid[i]!;
      this.begin[row] = columns.begin[i]!;
    }
  }

  /** Only the store calls this. */
  upd(columns: ThreadUpd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const row = this.rowOf(columns.id[i]!);
      if (row < 0) throw new BadUpdate(`threads.upd.id[${i}]: thread ${columns.id[i]} is not known`);
      for (const name of ["name", "state", "hub", "task", "node", "since", "slice"] as const) {
        this[name][row] = columns[name][i]!;
      }
      for (const name of ["cpu", "blocked", "idle", "end"] as const) this[name][row] = columns[name][i]!;
      this.sliceCpu[row] = columns.slice_cpu[i]!;
      this.sliceBlocked[row] = columns.slice_blocked[i]!;
      this.sliceIdle[row] = columns.slice_idle[i]!;
      this.sliceNode[row] = columns.slice_node?.[i] ?? 0;
      this.cost[row] = columns.cost?.[i] ?? 0;
      this.gilWait[row] = columns.gil_wait?.[i] ?? 0;
      this.gilHolder[row] = columns.gil_holder?.[i] ?? 0;
      const id = this.id[row]!;
      if (this.hub[row] !== 0 && !this.hubs.includes(id)) this.hubs.push(id);
    }
  }

  /** Only the store calls this. */
  del(ids: readonly number[]): void {
    ids.forEach((id, i) => {
      const row = this.rowOf(id);
      if (row < 0) throw new BadUpdate(`threads.del[${i}]: thread ${id} is not known`);
      for (const name of COLUMNS) this[name].copyWithin(row, row + 1, this.size);
      this.size--;
      for (const name of COLUMNS) this[name][this.size] = 0;
      this.rows.delete(id);
      for (let r = row; r < this.size; r++) this.rows.set(this.id[r]!, r);
    });
  }
}
