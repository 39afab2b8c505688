import type { Store } from "@flamelet/model";

/**
 * Which groups run on a thread that has a hub. On other threads blocked time holds nobody up: a writer that waits for its
 * queue all day would be the widest frame of every program if it counted beside the hubs.
 */
export class GroupHubs {
  private readonly threads = new Map<number, Set<number>>();
  private seen = 1;
  private generation = -1;

  constructor(private readonly store: Store) {}

  /** Unknown groups count as on a hub. */
  onHub(group: number): boolean {
    this.read();
    const threads = this.threads.get(group);
    if (threads === undefined) return true;
    for (const id of threads) {
      const row = this.store.threads.rowOf(id);
      if (row >= 0 && this.store.threads.hub[row] !== 0) return true;
    }
    return false;
  }

  /** Ids of the groups on hubs; null when that is all of them, or when there is no hub. */
  apart(): number[] | null {
    const { groups, threads } = this.store;
    let hubs = 0;
    for (let row = 0; row < threads.size; row++) if (threads.hub[row] !== 0) hubs++;
    if (hubs === 0) return null;
    const on: number[] = [];
    let off = 0;
    for (let id = 0; id < groups.size; id++) {
      if (!groups.has(id)) continue;
      if (this.onHub(id)) on.push(id);
      else off++;
    }
    return off === 0 ? null : on;
  }

  /** Every tree has a root with its group and thread; only new nodes are looked at. */
  private read(): void {
    const { nodes, generation } = this.store;
    if (generation !== this.generation) {
      this.generation = generation;
      this.threads.clear();
      this.seen = 1;
    }
    for (; this.seen < nodes.size; this.seen++) {
      if (nodes.function[this.seen] !== 0 || !nodes.has(this.seen)) continue;
      const group = nodes.group[this.seen]!;
      const threads = this.threads.get(group);
      if (threads === undefined) this.threads.set(group, new Set([nodes.thread[this.seen]!]));
      else threads.add(nodes.thread[this.seen]!);
    }
  }
}
