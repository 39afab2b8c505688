/** How much of what looks like blocking was waiting for the GIL, so that no innocent task is blamed. */
import type { Holder } from "./holders.ts";
import type { Store } from "./store.ts";

export interface GilWait {
  /** ns, an estimate; 0: it did not wait. */
  waited: number;
  /** Thread id of who held the GIL for most of that; 0: not known, or not profiled. */
  holder: number;
}

/** Of what held a hub: all its slices that are over, together. */
export function gilWaitOfHolder(store: Store, held: Holder): GilWait {
  const { slices } = store;
  const byHolder = new Map<number, number>();
  let waited = 0;
  for (const id of held.slices) {
    const row = slices.rowOf(id);
    if (row < 0 || slices.gil[row] === 0) continue;
    const holder = slices.gilHolder[row]!;
    waited += slices.gil[row]!;
    byHolder.set(holder, (byHolder.get(holder) ?? 0) + slices.gil[row]!);
  }
  const most = [...byHolder].sort((a, b) => b[1] - a[1])[0];
  return { waited, holder: most?.[0] ?? 0 };
}
