// What the views read of the page's state, each in one place.
import { type Activity, formatClock, formatCount, type HubReport, type TaskActivity } from "@flamelet/model";
import { EVERYTHING, ON_HUBS, type Page } from "./page.ts";

/** Rows of the threads that have a hub; of all that live when none has. */
export function hubRows(page: Page): number[] {
  const { threads } = page.store;
  const rows = Array.from({ length: threads.size }, (_, row) => row);
  const hubs = rows.filter((row) => threads.hub[row] !== 0);
  if (hubs.length > 0) return hubs;
  return rows.filter((row) => threads.state[row] === 1);
}

/** "hub 1"; the thread's own name when it has no hub. */
export function hubTitle(page: Page, row: number): string {
  return page.store.threads.hubName(row) || page.store.threads.nameOf(row);
}

export interface HubNow {
  activity: Activity | "none";
  /** ns in that state. */
  for: number;
  /** Who has the thread: the culprit's function for a blocked hub, a task's name otherwise. */
  who: string;
  task: number;
}

/** What a thread does at this moment. */
export function hubNow(page: Page, row: number, report: HubReport): HubNow {
  const { threads, tasks } = page.store;
  const task = threads.task[row]!;
  const taskRow = task === 0 ? -1 : tasks.rowOf(task);
  if (taskRow < 0) return { activity: "none", for: 0, who: "", task: 0 };
  const state: TaskActivity = page.describe(taskRow);
  const holder = report.holders.find((h) => h.thread === threads.id[row] && h.lasting > 0);
  const who =
    holder === undefined
      ? tasks.nameOf(taskRow)
      : page.store.functions.nameOf(holder.actor) || tasks.nameOf(taskRow);
  return { activity: state.activity, for: state.for, who, task };
}

/** "3 entered before the start": frames that were on a stack already, which are no calls; "" for none. */
export function seededText(seeded: number): string {
  return seeded > 0 ? `${formatCount(seeded)} entered before the start` : "";
}

/** Time of day with milliseconds: "10:20:29.813". */
export function formatInstant(page: Page, ns: number): string {
  const epoch = page.session.value?.epoch ?? 0;
  const ms = Math.floor(epoch + ns / 1e6) % 1000;
  return `${formatClock(epoch, ns)}.${String(ms).padStart(3, "0")}`;
}

/** ns since the connection was lost; 0 while it stands. */
export function lostFor(page: Page): number {
  const { state, since } = page.connection.value;
  return state === "lost" ? (Date.now() - since) * 1e6 : 0;
}

/** The program has ended, or the server has said its last word. */
export function isOver(page: Page): boolean {
  return page.connection.value.state === "ended" || page.store.status?.state === "ended";
}

/** Tree node of the selected frame, -1: none. */
export function selectedNode(page: Page): number {
  const selection = page.selection.value;
  return selection?.kind === "frame" ? page.tree.findPath(selection.path) : -1;
}

/** Function of the selected frame or row, 0: none. */
export function selectedFunction(page: Page): number {
  const selection = page.selection.value;
  if (selection?.kind === "function") return selection.fn;
  if (selection?.kind === "frame") return selection.path[selection.path.length - 1] ?? 0;
  return 0;
}

/**
 * First row of the flame that is shown. The tree of a group begins with its entry function: the root above it would say
 * the same twice.
 */
export function firstRow(page: Page): 0 | 1 {
  return page.scope.value >= 0 && page.tree.children(0).length === 1 ? 1 : 0;
}

/** Text on the root of the flame, and in the breadcrumbs. */
export function scopeName(page: Page): string {
  return nameOfScope(page, page.scope.value);
}

export function nameOfScope(page: Page, scope: number): string {
  if (scope === ON_HUBS) return page.groupHubs.apart() === null ? "All tasks" : "All tasks on hubs";
  if (scope === EVERYTHING) return page.groupHubs.apart() === null ? "All tasks" : "All tasks, all threads";
  return page.groupName(scope);
}
