/**
 * An order that can be held: while the pointer is in a table, rows that are known keep their places and new ones come
 * last, so that no row moves away under a click.
 */
export class StableOrder<K> {
  private ranks = new Map<K, number>();
  private settings = "";

  /**
   * Sorts `items` in place. `settings` names what was asked for (column, direction): when it changes, the order is made
   * anew even while it is held.
   */
  sort<T>(
    items: T[],
    keyOf: (item: T) => K,
    compare: (a: T, b: T) => number,
    settings: string,
    hold: boolean,
  ): T[] {
    if (hold && settings === this.settings && this.ranks.size > 0) {
      const last = this.ranks.size;
      const ranks = this.ranks;
      items.sort((a, b) => (ranks.get(keyOf(a)) ?? last) - (ranks.get(keyOf(b)) ?? last));
    } else {
      items.sort(compare);
    }
    this.settings = settings;
    this.ranks = new Map(items.map((item, rank) => [keyOf(item), rank]));
    return items;
  }
}
