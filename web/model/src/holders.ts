/** Who holds the hubs: long slices, grouped by what they were spent in. */
import { DEFAULT_THRESHOLD } from "./activity.ts";
import { findCulprit } from "./culprit.ts";
import { HISTORY } from "./history.ts";
import { Modules } from "./modules.ts";
import { describeCulprit, describeQuiet, type SentencePart } from "./sentence.ts";
import type { Store } from "./store.ts";

/** What held one hub for long, the same function path under the same entry function each time. */
export interface Holder {
  /** Thread id of the hub. */
  thread: number;
  group: number;
  /** Function ids from the entry function to where most of the time went. */
  path: number[];
  /** The store's node at that path, the latest where threads and groups have several. */
  node: number;
  /** The route, the job: see actorOf(); 0: none is known. */
  actor: number;
  /** Last function of the path; 0: none is known. */
  place: number;
  /** Slices in the window, the one that still lasts included; their times in ns. */
  count: number;
  held: number;
  cpu: number;
  blocked: number;
  longest: number;
  mean: number;
  meanCpu: number;
  meanBlocked: number;
  /** held / window of its hub, 0 to 1. */
  share: number;
  /** Age of the slice that lasts now, ns; 0: none does. */
  lasting: number;
  /** The task that holds now, or held last. */
  task: number;
  /** Ids of its slices that are over, oldest first. */
  slices: number[];
}

export interface HubReport {
  /** Everything that held a hub for longer than the threshold; the most time first. */
  holders: Holder[];
  /** The one that the sentence is about. */
  culprit: Holder | null;
  /** "report holds hub 1 for 180 ms each time, 16.2 % of its time: 142 ms blocked in Cursor.execute" */
  sentence: string;
  /** The same in parts, for links and weights; the file is only here. */
  parts: SentencePart[];
  /** ns that were looked at, at most two minutes. */
  window: number;
}

interface Held {
  thread: number;
  task: number;
  group: number;
  node: number;
  begin: number;
  cpu: number;
  blocked: number;
  /** 0: it still lasts. */
  slice: number;
}

export interface HubReportOptions {
  /** ns; that of the session. */
  threshold?: number;
  /** ns back from now. */
  window?: number;
  modules?: Modules;
}

export function hubReport(store: Store, options: HubReportOptions = {}): HubReport {
  const threshold = options.threshold ?? DEFAULT_THRESHOLD;
  const modules = options.modules ?? new Modules(store);
  const window = Math.min(options.window ?? HISTORY, store.now);
  const since = store.now - window;
  const holders = new Map<string, Holder>();
  for (const held of heldHubs(store, since, threshold)) addHeld(store, holders, held, since, modules);
  const all = [...holders.values()];
  for (const holder of all) setMeans(holder, hubWindow(store, holder.thread, since));
  all.sort((a, b) => b.held - a.held || a.thread - b.thread || a.node - b.node);
  const culprit = findCulprit(store, all);
  const parts = culprit
    ? describeCulprit(store, culprit, modules)
    : describeQuiet(store, threshold, all.length > 0);
  const sentence = parts
    .filter((part) => part.role !== "file")
    .map((part) => part.text)
    .join("")
    .trim();
  return { holders: all, culprit, sentence, parts, window };
}

/**
 * Who a reader would name: the first function of the innermost run of the program's own code. Own code further out is
 * what calls everything, a middleware or a main(); 0: there is no own code on the path.
 */
export function actorOf(path: readonly number[], modules: Modules): number {
  let last = path.length - 1;
  while (last >= 0 && modules.of(path[last]!).origin !== "own") last--;
  while (last > 0 && modules.of(path[last - 1]!).origin === "own") last--;
  return path[last] ?? 0;
}

/** `window`: how much of it the hub's thread lived, ns. */
function setMeans(holder: Holder, window: number): void {
  holder.mean = holder.held / holder.count;
  holder.meanCpu = holder.cpu / holder.count;
  holder.meanBlocked = holder.blocked / holder.count;
  holder.share = holder.held / window;
}

/** Long slices of threads with a hub, those that still last included. */
function* heldHubs(store: Store, since: number, threshold: number): Generator<Held> {
  const { slices, threads, now } = store;
  for (let row = 0; row < slices.size; row++) {
    const thread = threads.rowOf(slices.thread[row]!);
    if (slices.end[row]! <= since || thread < 0 || threads.hub[thread] === 0) continue;
    // A hub that polls has nothing to do, however long.
    if (slices.cpu[row]! + slices.blocked[row]! <= threshold) continue;
    yield {
      thread: slices.thread[row]!,
      task: slices.task[row]!,
      group: slices.group[row]!,
      node: slices.node[row]!,
      begin: slices.begin[row]!,
      cpu: slices.cpu[row]!,
      blocked: slices.blocked[row]!,
      slice: slices.id[row]!,
    };
  }
  for (let row = 0; row < threads.size; row++) {
    const busy = threads.sliceCpu[row]! + threads.sliceBlocked[row]!;
    if (threads.hub[row] === 0 || threads.end[row] !== 0 || busy <= threshold) continue;
    const task = store.tasks.rowOf(threads.task[row]!);
    yield {
      thread: threads.id[row]!,
      task: threads.task[row]!,
      group: task < 0 ? 0 : store.tasks.group[task]!,
      node: threads.sliceNode[row]! || threads.node[row]!,
      begin: Math.min(now, threads.slice[row]!),
      cpu: threads.sliceCpu[row]!,
      blocked: threads.sliceBlocked[row]!,
      slice: 0,
    };
  }
}

function addHeld(
  store: Store,
  holders: Map<string, Holder>,
  held: Held,
  since: number,
  modules: Modules,
): void {
  const path = store.nodes.path(held.node);
  const entry = path[0] ?? store.groups.entry[held.group] ?? 0;
  const key = `${held.thread} ${path.length > 0 ? path.join(" ") : entry}`;
  let holder = holders.get(key);
  if (holder === undefined) {
    holder = {
      thread: held.thread,
      group: held.group,
      path,
      node: held.node,
      actor: actorOf(path, modules) || entry,
      place: path[path.length - 1] ?? entry,
      count: 0,
      held: 0,
      cpu: 0,
      blocked: 0,
      longest: 0,
      mean: 0,
      meanCpu: 0,
      meanBlocked: 0,
      share: 0,
      lasting: 0,
      task: 0,
      slices: [],
    };
    holders.set(key, holder);
  }
  const busy = held.cpu + held.blocked;
  // Of a slice that began before the window only the part inside counts.
  const part = held.begin < since ? Math.min(1, (busy - (since - held.begin)) / busy) : 1;
  const inside = Math.max(0, part);
  holder.count++;
  holder.cpu += held.cpu * inside;
  holder.blocked += held.blocked * inside;
  holder.held += busy * inside;
  holder.longest = Math.max(holder.longest, busy);
  holder.node = held.node;
  holder.group = held.group;
  holder.task = held.task;
  if (held.slice === 0) holder.lasting = busy;
  else holder.slices.push(held.slice);
}

/** How much of the window the hub's thread lived. */
function hubWindow(store: Store, thread: number, since: number): number {
  const { threads, now } = store;
  const row = threads.rowOf(thread);
  const begin = Math.max(since, threads.begin[row]!);
  const end = threads.end[row]! > 0 ? threads.end[row]! : now;
  return Math.max(1, end - begin);
}
