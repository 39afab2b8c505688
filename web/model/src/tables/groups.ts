import type { GroupAdd, GroupUpd } from "@flamelet/protocol";
import { type Times, timesAt } from "../times.ts";
import { BadUpdate, checkId, growColumns } from "./columns.ts";
import type { FunctionTable } from "./functions.ts";
import type { StringTable } from "./strings.ts";

const SUMS = ["started", "ended", "switches", "cpu", "blocked", "idle", "waited", "longest"] as const;
const COLUMNS = ["known", "entry", "label", "open", ...SUMS] as const;

/** Tasks with the same entry function and label, by id. Group 0 (entry 0) holds tasks until their first call. */
export class GroupTable {
  /** Ids are 0 to size - 1. */
  size = 0;
  /** Function id. */
  entry: Int32Array = new Int32Array(16);
  label: Int32Array = new Int32Array(16);
  /** 1: has(). */
  known: Uint8Array = new Uint8Array(16);
  started: Float64Array = new Float64Array(16);
  ended: Float64Array = new Float64Array(16);
  switches: Float64Array = new Float64Array(16);
  cpu: Float64Array = new Float64Array(16);
  blocked: Float64Array = new Float64Array(16);
  idle: Float64Array = new Float64Array(16);
  waited: Float64Array = new Float64Array(16);
  /** What the parked tasks of the group have waited up to now, beside `waited`. Filled by the store. */
  open: Float64Array = new Float64Array(16);
  longest: Float64Array = new Float64Array(16);

  constructor(
    private readonly strings: StringTable,
    private readonly functions: FunctionTable,
  ) {}

  has(id: number): boolean {
    return id >= 0 && id < this.size && this.known[id] === 1;
  }

  /**
   * "WSGIHandler.handle", with a label "WSGIHandler.handle [GET /]"; "" for an id that is not known and for group 0,
   * which has no entry function.
   */
  nameOf(id: number): string {
    if (id === 0 || !this.has(id)) return "";
    const entry = this.functions.qualnameOf(this.entry[id]!);
    const label = this.strings.get(this.label[id]!);
    return label === "" ? entry : `${entry} [${label}]`;
  }

  /** Up to now. */
  times(id: number): Times {
    const times = timesAt(this, id);
    times.waited += this.open[id] ?? 0;
    return times;
  }

  /** Only the store calls this. */
  add(columns: GroupAdd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      const entry = columns.entry[i]!;
      checkId(id, "groups.add.id", i, 0);
      if (this.has(id)) throw new BadUpdate(`groups.add.id[${i}]: group ${id} was added before`);
      if (entry >= this.functions.size || (entry === 0) !== (id === 0)) {
        throw new BadUpdate(`groups.add.entry[${i}]: function ${entry} is not known`);
      }
      this.size = Math.max(this.size, id + 1);
      growColumns(this, COLUMNS, this.size);
      this.known[id] = 1;
      this.entry[id] = entry;
      this.label[id] = columns.label[i]!;
    }
  }

  /** Only the store calls this. */
  upd(columns: GroupUpd): void {
    for (let i = 0; i < columns.id.length; i++) {
      const id = columns.id[i]!;
      if (!this.has(id)) throw new BadUpdate(`groups.upd.id[${i}]: group ${id} is not known`);
      for (const name of SUMS) this[name][id] = columns[name][i]!;
    }
  }
}
