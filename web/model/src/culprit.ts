/** Which of those that hold hubs the page should speak about. */
import type { Holder } from "./holders.ts";
import type { Store } from "./store.ts";

/** A culprit holds at least this share of its hub, and this often ... */
const MIN_SHARE = 0.01;
const MIN_COUNT = 3;
/** ... or holds it now for longer than this, ns. */
export const MIN_LASTING = 1e9;
/** Its place is the deepest function under which this share of its time lies. */
const MOST = 0.6;

/**
 * One that lasts for more than a second, else the actor with the largest share of its hub. An actor may have held it at
 * several paths, a loop that calls this and that: they are put together, down to the path that most of them share.
 * `holders`: the most time first.
 */
export function findCulprit(store: Store, holders: readonly Holder[]): Holder | null {
  const lasting = holders.filter((h) => h.lasting > MIN_LASTING).sort((a, b) => b.lasting - a.lasting);
  if (lasting[0]) return lasting[0];
  const actors = new Map<string, Holder[]>();
  for (const holder of holders) {
    const key = `${holder.thread} ${holder.path.slice(0, holder.path.indexOf(holder.actor) + 1).join(" ")}`;
    const same = actors.get(key);
    if (same) same.push(holder);
    else actors.set(key, [holder]);
  }
  const culprits = [...actors.values()]
    .map((same) => merge(store, same))
    .filter((h) => h.share >= MIN_SHARE && h.count >= MIN_COUNT)
    .sort((a, b) => b.share - a.share);
  return culprits[0] ?? null;
}

/** Holders of one actor as one; the first has held most. */
function merge(store: Store, same: readonly Holder[]): Holder {
  const first = same[0]!;
  if (same.length === 1) return first;
  const sum = (of: (h: Holder) => number): number => same.reduce((total, h) => total + of(h), 0);
  const held = sum((h) => h.held);
  const count = sum((h) => h.count);
  const newest = same.reduce((a, b) => (b.lasting > 0 || last(b) > last(a) ? b : a));
  const path = sharedPath(same, held);
  let { node } = first;
  for (let depth = store.nodes.depth(node); depth > path.length; depth--) node = store.nodes.parent[node]!;
  return {
    ...first,
    path,
    node,
    place: path[path.length - 1] ?? first.place,
    count,
    held,
    cpu: sum((h) => h.cpu),
    blocked: sum((h) => h.blocked),
    longest: Math.max(...same.map((h) => h.longest)),
    mean: held / count,
    meanCpu: sum((h) => h.cpu) / count,
    meanBlocked: sum((h) => h.blocked) / count,
    share: sum((h) => h.share),
    lasting: Math.max(...same.map((h) => h.lasting)),
    task: newest.task,
    slices: same.flatMap((h) => h.slices).sort((a, b) => a - b),
  };
}

const last = (holder: Holder): number => holder.slices[holder.slices.length - 1] ?? 0;

/** The longest path under which most of the time lies; at least that of the actor, which all share. */
function sharedPath(same: readonly Holder[], held: number): number[] {
  const { path, actor } = same[0]!;
  for (let length = path.length; length > path.indexOf(actor) + 1; length--) {
    const under = same.filter((h) => path.slice(0, length).every((fn, i) => h.path[i] === fn));
    if (under.reduce((total, h) => total + h.held, 0) >= MOST * held) return path.slice(0, length);
  }
  return path.slice(0, path.indexOf(actor) + 1);
}
