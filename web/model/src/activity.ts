import { TaskState } from "@flamelet/protocol";
import { formatDuration } from "./numbers.ts";
import { placeOf } from "./places.ts";
import type { Store } from "./store.ts";

/** Slices longer than this block a hub, where the session does not say otherwise; ns. */
export const DEFAULT_THRESHOLD = 100e6;

export type Activity = "running" | "blocking" | "polling" | "waiting" | "ended";

export interface TaskActivity {
  activity: Activity;
  /** Time in that state, ns: the slice's age while it is current, the waiting time while it is parked. */
  for: number;
  /** Where it is, or waits: "Queue.get"; "" where that is not known. */
  place: string;
  /** Who called the place: "WSGIHandler.read_requestline"; "" where that is not known. */
  caller: string;
  /** Has nothing to do: waits for work to come, sleeps, or is a hub. Not: waits for work of others. */
  idle: boolean;
  /** "blocking its hub for 1.20 s", "waiting 3.40 s at Queue.get" */
  text: string;
}

/** What the task in a row does now. `threshold`, ns: it blocks its hub when its slice is older than that. */
export function describeTask(store: Store, row: number, threshold = DEFAULT_THRESHOLD): TaskActivity {
  const { tasks, now } = store;
  const age = Math.max(0, now - tasks.since[row]!);
  const state = tasks.state[row];
  if (state === TaskState.ended) {
    return {
      activity: "ended",
      for: age,
      place: "",
      caller: "",
      idle: true,
      text: `ended ${formatDuration(age)} ago`,
    };
  }
  const place = placeOf(store, row);
  if (state === TaskState.current) return describeCurrent(store, row, threshold, place);
  if (tasks.hub[row] === 1) {
    const text = `waiting ${formatDuration(age)} for its tasks`;
    return { activity: "waiting", for: age, ...place, idle: true, text };
  }
  const at = place.place === "" ? "" : ` at ${place.place}`;
  return { activity: "waiting", for: age, ...place, text: `waiting ${formatDuration(age)}${at}` };
}

function describeCurrent(
  store: Store,
  row: number,
  threshold: number,
  place: { place: string; caller: string },
): TaskActivity {
  const { tasks, threads, now } = store;
  const thread = threads.rowOf(tasks.thread[row]!);
  const known = thread >= 0 && threads.task[thread] === tasks.id[row];
  const age = Math.max(0, now - (known ? threads.slice[thread]! : tasks.since[row]!));
  const base = { ...place, for: age, idle: false };
  if (tasks.hub[row] === 1) {
    // What a hub did besides its poll: callbacks, which hold up its tasks as any task would.
    const busy = known ? threads.sliceCpu[thread]! + threads.sliceBlocked[thread]! : 0;
    if (busy > threshold) {
      return {
        ...base,
        activity: "blocking",
        for: busy,
        text: `busy in its loop for ${formatDuration(busy)}`,
      };
    }
    return { ...base, activity: "polling", idle: true, text: `polling for ${formatDuration(age)}` };
  }
  if (known && threads.hub[thread] !== 0 && age > threshold) {
    return { ...base, activity: "blocking", text: `blocking its hub for ${formatDuration(age)}` };
  }
  if (known && threads.hub[thread] === 0) {
    // Its one slice is as old as the thread. What it does now began with its last call or return.
    const since = Math.max(0, now - threads.since[thread]!);
    const at = place.place === "" ? "" : ` in ${place.place}`;
    return { ...base, activity: "running", for: since, text: `running${at} for ${formatDuration(since)}` };
  }
  return { ...base, activity: "running", text: `running for ${formatDuration(age)}` };
}

/** Tasks that wait at one place. */
export interface WaitSummary {
  place: string;
  /** They have nothing to do. */
  idle: boolean;
  tasks: number;
  /** ns, and the task's id. */
  longest: number;
  task: number;
}

/** Parked tasks by what they wait for, hubs left out; work of others first, then idle places; most tasks first. */
export function waitSummary(store: Store): WaitSummary[] {
  const { tasks } = store;
  const rows = new Map<string, WaitSummary>();
  for (let row = 0; row < tasks.size; row++) {
    if (tasks.state[row] !== TaskState.parked || tasks.hub[row] === 1) continue;
    const { place, idle } = placeOf(store, row);
    const key = `${idle ? 1 : 0}${place}`;
    let summary = rows.get(key);
    if (summary === undefined) {
      summary = { place, idle, tasks: 0, longest: -1, task: 0 };
      rows.set(key, summary);
    }
    summary.tasks++;
    if (tasks.open[row]! > summary.longest) {
      summary.longest = tasks.open[row]!;
      summary.task = tasks.id[row]!;
    }
  }
  return [...rows.values()].sort(
    (a, b) => Number(a.idle) - Number(b.idle) || b.tasks - a.tasks || (a.place < b.place ? -1 : 1),
  );
}
