// Which long slices waited for the GIL, and for whom: what looks like blocking may be another thread's doing.
import { formatDuration, gilWaitOfHolder, type Holder, type Store } from "@flamelet/model";

/** A wait that is a smaller share of its slice explains nothing; looks are 20 to 50 ms apart, so it may be chance too. */
const WORTH = 0.1;

/** "thread pool-1 in crunch"; `node`: where the holder was, 0: not known. */
function holderText(store: Store, holder: number, node: number): string {
  const { threads, functions, nodes } = store;
  const place = functions.qualnameOf(nodes.function[node] ?? 0);
  return `${threads.called(holder)}${place === "" ? "" : ` in ${place}`}`;
}

/** "waited 80 ms for the GIL, held by thread pool-1 in crunch"; "" when the long slice in `row` did not. */
export function gilWaitOf(store: Store, row: number): string {
  const { slices } = store;
  const waited = slices.gil[row] ?? 0;
  if (waited === 0 || waited < WORTH * (slices.end[row]! - slices.begin[row]!)) return "";
  const holder = slices.gilHolder[row]!;
  const by = holder === 0 ? "" : `, held by ${holderText(store, holder, slices.gilNode[row]!)}`;
  return `waited ${formatDuration(waited)} for the GIL${by}`;
}

/** "waits for the GIL, held by thread pool-1 in crunch": the thread in `row`, now; "" when it does not. */
export function gilWaitNow(store: Store, row: number): string {
  const { threads } = store;
  if (threads.gilWait[row] !== 1 || threads.end[row] !== 0) return "";
  const holder = threads.rowOf(threads.gilHolder[row]!);
  const node = holder < 0 ? 0 : threads.node[holder]!;
  return `waits for the GIL, held by ${holderText(store, threads.gilHolder[row]!, node)}`;
}

/** "waited 3.20 s for the GIL, held by thread pool-1": all slices of what held a hub together. */
export function gilWaitOfHeld(store: Store, held: Holder): string {
  const { waited, holder } = gilWaitOfHolder(store, held);
  if (waited === 0 || waited < WORTH * held.held) return "";
  return `waited ${formatDuration(waited)} for the GIL${holder === 0 ? "" : `, held by ${holderText(store, holder, 0)}`}`;
}

export interface GilWaitLine {
  id: number;
  /** Task id; 0: others of the thread. */
  task: number;
  thread: number;
  /** ns, an estimate. */
  waited: number;
  /** Where it mostly waited: a function's name, "" where that is not known. */
  place: string;
  /** Who held it, and where: "thread pool-1 in crunch". */
  holder: string;
}

/** Who waited for the GIL since the start, the longest first; `task` 0: all. */
export function gilWaits(store: Store, task = 0): GilWaitLine[] {
  const { gil, functions, nodes } = store;
  return gil.ids(task).map((id) => ({
    id,
    task: gil.task[id]!,
    thread: gil.thread[id]!,
    waited: gil.waited[id]!,
    place: functions.qualnameOf(nodes.function[gil.node[id]!] ?? 0),
    holder: holderText(store, gil.holder[id]!, gil.holderNode[id]!),
  }));
}
