import type { GroupAdd, GroupUpd } from "@flamelet/protocol";
import { type Times, timesAt } from "../times.ts";
import { BadUpdate, checkId, growColumns } from "./columns.ts";
import type { FunctionTable } from "./functions.ts";
import type { StringTable } from "./strings.ts";

const SUMS = ["started", "ended", "switches", "cpu", "blocked", "idle", "waited", "longest"] as const;
const COLUMNS = ["entry", "label", "open", ...SUMS] as const;

/** Tasks with the same entry function and label, by id. Group 0 is that of tasks before their first call; it has no row. */
export class GroupTable {
  /** Ids are 1 to size - 1. */
  size = 1;
  /** Function id; 0 for an id that is not known. */
  entry: Int32Array = new Int32Array(16);
  label: Int32Array = new Int32Array(16);
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
    return id > 0 && id < this.size && this.entry[id] !== 0;
  }

  /** "WSGIHandler.handle", with a label "WSGIHandler.handle [GET /]"; "" for an id that is not known. */
  nameOf(id: number): string {
    if (!this.has(id)) return "";
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
      checkId(id, `groups.add.id[${i}]`);
      if (this.has(id)) throw new BadUpdate(`groups.add.id[${i}]: group ${id} was added before`);
      if (entry < 1 || entry >= this.functions.size) {
        throw new BadUpdate(`groups.add.entry[${i}]: function ${entry} is not known`);
      }
      this.size = Math.max(this.size, id + 1);
      growColumns(this, COLUMNS, this.size);
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
