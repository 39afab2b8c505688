// Which lanes the timeline has: the threads with a hub, and below them the tasks that had one longest in sight.
import { formatCount } from "@flamelet/model";
import { AXIS, type Lane, type LaneSlice, lanesSlices } from "../canvas/timeline-painter.ts";
import type { Page } from "../state/page.ts";
import { hubRows, hubTitle } from "../state/selectors.ts";
import { taskMatcher } from "../state/task-rows.ts";

export const HUB_LANE = 44;
export const TASK_LANE = 28;
/** A task keeps its lane until twice as many others come before it: lanes must not change places all the time. */
const STAY = 2;
/** ns by which two parts of the server may tell the same instant apart: they refine the clock's rate meanwhile. */
const ROUNDING = 100e3;

export class Lanes {
  /** Task ids in the order of their lanes. */
  private tasks: number[] = [];

  constructor(private readonly page: Page) {}

  /** Lanes for what lies in [from, to), as many as `height` px hold. */
  build(from: number, to: number, height: number): Lane[] {
    const { page } = this;
    const { threads } = page.store;
    const rows = hubRows(page);
    const lanes: Lane[] = [];
    let y = AXIS;
    for (const row of rows) {
      if (y + HUB_LANE > height && lanes.length > 0) break;
      const title = hubTitle(page, row);
      const name = threads.nameOf(row);
      const note = name === title || page.narrow.value ? "" : name;
      lanes.push({ ...this.lane(row, 0), y, height: HUB_LANE, title, note });
      y += HUB_LANE;
    }
    const room = Math.max(0, Math.floor((height - y) / TASK_LANE));
    const hubs = [...lanes];
    for (const id of this.choose(hubs, from, to, room)) {
      const thread = this.threadOf(id, hubs);
      if (thread < 0) continue;
      lanes.push({ ...this.lane(thread, id), y, height: TASK_LANE, ...this.titleOf(id) });
      y += TASK_LANE;
    }
    return lanes;
  }

  private lane(row: number, task: number): Omit<Lane, "y" | "height" | "title" | "note"> {
    const { threads, timeline } = this.page.store;
    const thread = threads.id[row]!;
    return { thread, task, slices: timeline.of(thread), lasting: this.lasting(row) };
  }

  /** The slice that lasts; null once the thread has ended. */
  private lasting(row: number): LaneSlice | null {
    const { threads, timeline, now } = this.page.store;
    if (threads.end[row] !== 0) return null;
    const known = timeline.of(threads.id[row]!);
    const told = known !== undefined && known.size > 0 ? known.end[known.size - 1]! : 0;
    // Threads and slices are not read at one instant: the slice may be over and in the timeline already.
    if (threads.slice[row]! < told - ROUNDING) return null;
    const begin = Math.max(told, threads.slice[row]!);
    const [cpu, blocked] = [threads.sliceCpu[row]!, threads.sliceBlocked[row]!];
    const { tasks } = this.page.store;
    const task = tasks.rowOf(threads.task[row]!);
    const group = task < 0 ? 0 : tasks.group[task]!;
    return { row: -1, task: threads.task[row]!, group, begin, end: now, cpu, blocked };
  }

  /** The selected and the pinned tasks, then those with the most time in sight. */
  private choose(hubs: readonly Lane[], from: number, to: number, room: number): number[] {
    const { page } = this;
    const { tasks, threads } = page.store;
    const busy = new Map<number, number>();
    for (const lane of hubs) {
      const hub = threads.hub[threads.rowOf(lane.thread)] ?? 0;
      for (const slice of lanesSlices(lane, from, to)) {
        if (slice.task === 0 || slice.task === hub) continue;
        busy.set(slice.task, (busy.get(slice.task) ?? 0) + slice.cpu + slice.blocked);
      }
    }
    const matches = taskMatcher(page, page.taskQuery.value);
    for (const id of busy.keys()) if (!matches(id)) busy.delete(id);
    const ranked = [...busy].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([id]) => id);
    const near = new Set(ranked.slice(0, STAY * room));
    const selection = page.selection.value;
    const first = [...(selection?.kind === "task" ? [selection.id] : []), ...page.pinned.value].filter(
      (id) => busy.has(id) || tasks.rowOf(id) >= 0,
    );
    const stay = this.tasks.filter((id) => near.has(id));
    const free = ranked.filter((id) => !stay.includes(id));
    const kept = [...stay, ...free].slice(0, room);
    // In their old order: a selected task does not jump to the top of its list when it is there already.
    const missing = [...new Set(first)].filter((id) => !kept.includes(id)).slice(0, room);
    this.tasks = [...missing, ...kept].slice(0, room);
    return this.tasks;
  }

  private threadOf(task: number, hubs: readonly Lane[]): number {
    const { tasks, threads } = this.page.store;
    const row = tasks.rowOf(task);
    if (row >= 0) return threads.rowOf(tasks.thread[row]!);
    const lane = hubs.find(({ slices }) => slices?.task.subarray(0, slices.size).includes(task));
    return lane === undefined ? -1 : threads.rowOf(lane.thread);
  }

  private titleOf(id: number): { title: string; note: string } {
    const { tasks } = this.page.store;
    const row = tasks.rowOf(id);
    if (row < 0) return { title: `#${id}`, note: "ended" };
    const name = tasks.nameOf(row);
    return tasks.name[row] === 0 ? { title: `#${id}`, note: name } : { title: name, note: `#${id}` };
  }
}

/** "client-17 #45", also of a task that has ended and is forgotten. */
export function sliceTitle(page: Page, task: number, group: number): string {
  const { tasks, threads } = page.store;
  const row = tasks.rowOf(task);
  if (row < 0) return `#${task} ${page.groupName(group)}`.trim();
  const thread = threads.rowOf(tasks.thread[row]!);
  if (thread >= 0 && threads.hub[thread] === task) return `${hubTitle(page, thread)}, its loop`;
  const name = tasks.nameOf(row);
  return tasks.name[row] === 0 ? `#${task} ${name}` : `${name} #${task}`;
}

/** "1,204 slices lost" */
export function lostText(lost: number): string {
  return `${formatCount(lost)} ${lost === 1 ? "slice" : "slices"} lost`;
}
