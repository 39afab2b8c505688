import type { FunctionColumns } from "@flamelet/protocol";
import { BadUpdate, growColumns } from "./columns.ts";
import type { StringTable } from "./strings.ts";

const COLUMNS = ["name", "qualname", "file", "line", "kind"] as const;

/** Python functions and C callables by id. Id 0 is "no function": the root of trees. Functions never change. */
export class FunctionTable {
  /** Ids are 1 to size - 1. */
  size = 1;
  name: Int32Array = new Int32Array(16);
  qualname: Int32Array = new Int32Array(16);
  file: Int32Array = new Int32Array(16);
  /** First line, 0 for C. */
  line: Int32Array = new Int32Array(16);
  /** FunctionKind */
  kind: Uint8Array = new Uint8Array(16);
  private ranks: Int32Array = new Int32Array(0);
  private ids = new Map<string, number>();
  private idsOf = 1;

  constructor(private readonly strings: StringTable) {}

  nameOf(id: number): string {
    return this.strings.get(this.name[id] ?? 0);
  }

  /** Qualified name, "" for 0. */
  qualnameOf(id: number): string {
    return this.strings.get(this.qualname[id] ?? 0);
  }

  fileOf(id: number): string {
    return this.strings.get(this.file[id] ?? 0);
  }

  /** "/srv/shop/report.py:22"; the file alone where there is no line. */
  placeOf(id: number): string {
    const line = this.line[id] ?? 0;
    return line > 0 ? `${this.fileOf(id)}:${line}` : this.fileOf(id);
  }

  /** A text that names the function in any session of the program. */
  keyOf(id: number): string {
    return `${this.qualnameOf(id)}\t${this.fileOf(id)}\t${this.line[id] ?? 0}`;
  }

  /** Id of a key, 0: there is none (yet). */
  find(key: string): number {
    for (; this.idsOf < this.size; this.idsOf++) this.ids.set(this.keyOf(this.idsOf), this.idsOf);
    return this.ids.get(key) ?? 0;
  }

  /** Position of each id in the order of qualified name, file, line. For stable orders without comparing texts. */
  rank(): Int32Array {
    if (this.ranks.length === this.size) return this.ranks;
    const keys = Array.from({ length: this.size }, (_, id) => this.keyOf(id));
    const order = keys
      .map((_, id) => id)
      .sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
    this.ranks = new Int32Array(this.size);
    order.forEach((id, rank) => {
      this.ranks[id] = rank;
    });
    return this.ranks;
  }

  /** Only the store calls this. */
  add(first: number, columns: FunctionColumns): void {
    if (first !== this.size) throw new BadUpdate(`functions.first: expected ${this.size}, got ${first}`);
    const count = columns.name.length;
    growColumns(this, COLUMNS, this.size + count);
    for (const name of COLUMNS) this[name].set(columns[name], this.size);
    for (const name of ["name", "qualname", "file"] as const) {
      for (let i = 0; i < count; i++) {
        const id = columns[name][i]!;
        if (id >= this.strings.size)
          throw new BadUpdate(`functions.add.${name}[${i}]: string ${id} is not known`);
      }
    }
    this.size += count;
  }
}
