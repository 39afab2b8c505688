import { BadUpdate } from "./columns.ts";

/** Every name once. Id 0 is the empty string. */
export class StringTable {
  private readonly texts: string[] = [""];

  get size(): number {
    return this.texts.length;
  }

  /** "" for id 0 and for unknown ids. */
  get(id: number): string {
    return this.texts[id] ?? "";
  }

  /** Only the store calls this. */
  add(first: number, texts: readonly string[]): void {
    if (first !== this.texts.length) {
      throw new BadUpdate(`strings.first: expected ${this.texts.length}, got ${first}`);
    }
    for (const text of texts) this.texts.push(text);
  }
}
