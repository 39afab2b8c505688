import { grown } from "./tables/columns.ts";
import type { Kinds } from "./times.ts";
import type { Tree } from "./tree.ts";

/** Which frames of a tree match a text. */
export class Search {
  query = "";
  /** What is wrong with a regular expression; it then matches nothing. "" otherwise. */
  error = "";
  private test: ((text: string) => boolean) | null = null;
  /** 1: matches, 2: does not; by function id, 0: not tested yet. */
  private known: Uint8Array = new Uint8Array(16);
  private generation = -1;

  constructor(private readonly tree: Tree) {}

  get active(): boolean {
    return this.query !== "";
  }

  /** Text matches in the qualified name or the file, in any case; /regex/ is a regular expression. "": no search. */
  set(query: string): void {
    this.query = query.trim();
    this.error = "";
    this.known.fill(0);
    const pattern = /^\/(.+)\/$/.exec(this.query)?.[1];
    if (pattern === undefined) {
      const wanted = this.query.toLowerCase();
      this.test = (text) => text.toLowerCase().includes(wanted);
      return;
    }
    try {
      const regex = new RegExp(pattern, "i");
      this.test = (text) => regex.test(text);
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
      this.test = () => false;
    }
  }

  matchesFunction(fn: number): boolean {
    if (!this.active || fn <= 0 || this.test === null) return false;
    const { functions, generation } = this.tree.store;
    if (generation !== this.generation) {
      this.known.fill(0);
      this.generation = generation;
    }
    this.known = grown(this.known, functions.size);
    let known = this.known[fn];
    if (known === 0) {
      known = this.test(functions.qualnameOf(fn)) || this.test(functions.fileOf(fn)) ? 1 : 2;
      this.known[fn] = known;
    }
    return known === 1;
  }

  /** Frames that match and are shown, their counted total with each moment once, and its share of the root's. */
  result(kinds: Kinds): { frames: number; total: number; share: number } {
    const { tree } = this;
    const result = { frames: 0, total: 0, share: 0 };
    if (!this.active) return result;
    const within = new Uint8Array(tree.size);
    for (let node = 1; node < tree.size; node++) {
      if (tree.hiddenBy[node] !== 0) continue;
      const above = within[tree.parent[node]!]!;
      const matches = this.matchesFunction(tree.function[node]!);
      within[node] = above | (matches ? 1 : 0);
      if (!matches) continue;
      result.frames++;
      if (above === 0) result.total += tree.totalOf(node, kinds);
    }
    const all = tree.totalOf(0, kinds);
    result.share = all > 0 ? result.total / all : 0;
    return result;
  }
}
