import type { Activity, Kinds, Store, TaskActivity, Times } from "@flamelet/model";
import type { Grouping, SortState } from "./page.ts";
import { StableOrder } from "./stable-order.ts";
import { type FilterSubject, parseTaskFilter } from "./task-filter.ts";

export type StateCounts = Record<Activity, number>;

export interface GroupRow {
  type: "group";
  key: string;
  /** Id of the group of the store; -1 with another grouping. */
  group: number;
  title: string;
  /** Tasks listed under it. */
  tasks: number;
  counts: StateCounts;
  times: Times;
  switches: number;
  longest: number;
  open: boolean;
  /** Its tasks run on threads without a hub: what they block holds nobody up. */
  offHub: boolean;
  /** Of the longest state among its tasks, for sorting by state. */
  age: number;
}

export interface TaskRow {
  type: "task";
  key: string;
  id: number;
  pinned: boolean;
  offHub: boolean;
  /** 1 at the top, 2 below a group. */
  level: number;
}

export type Row = GroupRow | TaskRow;

export interface RowOptions {
  grouping: Grouping;
  sort: SortState;
  filter: string;
  pinned: readonly number[];
  unfolded: ReadonlySet<string>;
  ended: boolean;
  /** Whether a group of the store runs on a hub. */
  onHub: (group: number) => boolean;
  /** What a bar shows. */
  kinds: Kinds;
  hold: boolean;
}

interface Known extends RowOptions {
  /** There are hubs: threads without one stand apart. */
  anyHub: boolean;
}

export interface Rows {
  rows: Row[];
  /** Tasks that passed the filter, and all that could. */
  shown: number;
  of: number;
  /** Largest counted time of a group and of a task, ns: what a full bar means. */
  fullGroup: number;
  fullTask: number;
  /** Tasks left out because they have ended. */
  endedHidden: number;
}

const URGENCY: Readonly<Record<Activity, number>> = {
  blocking: 4,
  running: 3,
  polling: 2,
  waiting: 1,
  ended: 0,
};

/** Where the tasks come from; the page is one. */
export interface TaskSource {
  store: Store;
  describe(row: number): TaskActivity;
  groupName(id: number): string;
}

const ALL: Kinds = { cpu: true, blocked: true, waited: true, idle: true };

interface Candidate {
  row: number;
  id: number;
  value: number;
  offHub: boolean;
  /** Key of its group, "" without groups. */
  group: string;
}

/** The rows of the list of tasks: filtered, grouped, sorted. Keeps orders between calls, so make one per list. */
export class TaskRows {
  private readonly groupOrder = new StableOrder<string>();
  private readonly taskOrder = new StableOrder<number>();

  private readonly store: Store;

  constructor(private readonly source: TaskSource) {
    this.store = source.store;
  }

  build(options: RowOptions): Rows {
    const { store } = this;
    const { tasks } = store;
    const filter = parseTaskFilter(options.filter);
    const asksEnded = options.ended || /\bstate:e|\bended\b/.test(options.filter.toLowerCase());
    const states = new Map<number, TaskActivity>();
    const stateOf = (row: number): TaskActivity => {
      let state = states.get(row);
      if (state === undefined) {
        state = this.source.describe(row);
        states.set(row, state);
      }
      return state;
    };
    const hubs = hubThreads(store);
    const known: Known = { ...options, anyHub: hubs !== null };
    const groups = new Map<string, { row: GroupRow; tasks: Candidate[] }>();
    const flat: Candidate[] = [];
    let shown = 0;
    let of = 0;
    let endedHidden = 0;
    let fullTask = 0;
    for (let row = 0; row < tasks.size; row++) {
      if (tasks.state[row] === 2 && !asksEnded) {
        endedHidden++;
        continue;
      }
      of++;
      if (filter !== null && !filter(filterSubject(this.source, row, stateOf))) continue;
      shown++;
      const offHub = hubs !== null && !hubs.has(tasks.thread[row]!);
      if (!offHub) fullTask = Math.max(fullTask, countedTime(tasks.times(row), options.kinds));
      const key = options.grouping === "none" ? "" : this.groupKey(row, options.grouping, stateOf);
      const value = this.value(row, options.sort.key, stateOf, offHub);
      const candidate: Candidate = { row, id: tasks.id[row]!, value, offHub, group: key };
      if (key === "") {
        flat.push(candidate);
        continue;
      }
      let group = groups.get(key);
      if (group === undefined) {
        group = { row: this.newGroup(row, key, known), tasks: [] };
        groups.set(key, group);
      }
      if (!offHub) group.row.offHub = false;
      this.count(group.row, row, stateOf, filter !== null || options.grouping !== "entry");
      group.tasks.push(candidate);
    }
    if (options.grouping === "entry" && filter === null) this.addQuietGroups(groups, known);

    const { key, descending } = options.sort;
    const settings = `${options.grouping} ${key} ${descending}`;
    const direction = descending ? -1 : 1;
    const compareTasks = (a: Candidate, b: Candidate): number =>
      key === "name"
        ? direction * compareText(tasks.nameOf(a.row), tasks.nameOf(b.row)) || a.id - b.id
        : direction * (a.value - b.value) || a.id - b.id;
    const ordered = [...groups.values()];
    this.groupOrder.sort(
      ordered,
      (group) => group.row.key,
      (a, b) =>
        direction *
          (key === "name"
            ? compareText(a.row.title, b.row.title)
            : groupValue(a.row, key) - groupValue(b.row, key)) || compareText(a.row.title, b.row.title),
      settings,
      options.hold,
    );
    // One order for the tasks of all open groups: a group's own is a part of it.
    const listed = [...flat];
    for (const group of ordered) if (group.row.open) listed.push(...group.tasks);
    this.taskOrder.sort(listed, (task) => task.id, compareTasks, settings, options.hold);

    const rows: Row[] = [];
    for (const id of options.pinned) {
      const row = tasks.rowOf(id);
      if (row < 0) continue;
      const offHub = hubs !== null && !hubs.has(tasks.thread[row]!);
      rows.push({ type: "task", key: `p${id}`, id, pinned: true, offHub, level: 1 });
    }
    const byGroup = new Map<string, Row[]>();
    for (const task of listed) {
      const { id, offHub, group } = task;
      const level = group === "" ? 1 : 2;
      const line: TaskRow = { type: "task", key: `t${id}`, id, pinned: false, offHub, level };
      if (level === 1) {
        rows.push(line);
        continue;
      }
      const lines = byGroup.get(group);
      if (lines === undefined) byGroup.set(group, [line]);
      else lines.push(line);
    }
    let fullGroup = 0;
    for (const group of ordered) {
      if (!group.row.offHub) fullGroup = Math.max(fullGroup, countedTime(group.row.times, options.kinds));
      rows.push(group.row);
      for (const line of byGroup.get(group.row.key) ?? []) rows.push(line);
    }
    return { rows, shown, of, fullGroup, fullTask, endedHidden };
  }

  private groupKey(row: number, grouping: Grouping, stateOf: (row: number) => TaskActivity): string {
    const { tasks } = this.store;
    switch (grouping) {
      case "entry":
        return `g${tasks.group[row]}`;
      case "state":
        return `s${stateOf(row).activity}`;
      case "waits": {
        const state = stateOf(row);
        return state.activity === "waiting" ? `w${state.place || "unknown"}` : `s${state.activity}`;
      }
      default:
        return `h${tasks.thread[row]}`;
    }
  }

  private newGroup(row: number, key: string, options: Known): GroupRow {
    const { tasks, threads } = this.store;
    const group = options.grouping === "entry" ? tasks.group[row]! : -1;
    let title = key.slice(1);
    if (group >= 0) title = this.source.groupName(group);
    else if (options.grouping === "hub") {
      const thread = threads.rowOf(tasks.thread[row]!);
      title =
        thread < 0
          ? `thread ${key.slice(1)}`
          : [threads.hubName(thread), threads.nameOf(thread)].filter(Boolean).join(", ");
    }
    return this.groupRow(key, group, title, options);
  }

  private groupRow(key: string, group: number, title: string, options: Known): GroupRow {
    const { groups } = this.store;
    const entry = group >= 0 && groups.has(group) && parseTaskFilter(options.filter) === null;
    return {
      type: "group",
      key,
      group,
      title,
      tasks: 0,
      counts: { running: 0, blocking: 0, polling: 0, waiting: 0, ended: 0 },
      // A group of the store knows the times of its forgotten tasks too.
      times: entry ? { ...groups.times(group) } : { cpu: 0, blocked: 0, idle: 0, waited: 0 },
      switches: entry ? groups.switches[group]! : 0,
      longest: entry ? groups.longest[group]! : 0,
      open: options.unfolded.has(key),
      // Until a task on a hub is found in it; a group without tasks is asked for by its id.
      offHub: options.anyHub && !(group >= 0 && options.onHub(group)),
      age: 0,
    };
  }

  /** Groups all of whose tasks have ended and were forgotten: their sums still count. */
  private addQuietGroups(groups: Map<string, { row: GroupRow; tasks: Candidate[] }>, options: Known): void {
    const table = this.store.groups;
    for (let id = 0; id < table.size; id++) {
      const key = `g${id}`;
      if (!table.has(id) || groups.has(key) || (id === 0 && countedTime(table.times(0), ALL) === 0)) continue;
      groups.set(key, { row: this.groupRow(key, id, this.source.groupName(id), options), tasks: [] });
    }
  }

  private count(group: GroupRow, row: number, stateOf: (row: number) => TaskActivity, sum: boolean): void {
    const { tasks } = this.store;
    group.tasks++;
    // Only tasks that are current can be more than one thing.
    const activity: Activity =
      tasks.state[row] === 2 ? "ended" : tasks.state[row] === 1 ? "waiting" : stateOf(row).activity;
    group.counts[activity]++;
    group.age = Math.max(group.age, URGENCY[activity]);
    // Also where the store has sums: its longest slice of a group does not know the one that lasts.
    group.longest = Math.max(group.longest, tasks.longest[row]!);
    if (!sum && group.group >= 0) return;
    const times = tasks.times(row);
    group.times.cpu += times.cpu;
    group.times.blocked += times.blocked;
    group.times.idle += times.idle;
    group.times.waited += times.waited;
    group.switches += tasks.switches[row]!;
  }

  private value(row: number, key: string, stateOf: (row: number) => TaskActivity, offHub: boolean): number {
    const { tasks } = this.store;
    switch (key) {
      case "state": {
        const state = stateOf(row);
        // Who has a thread comes before who waits, however long; beyond that the time counts.
        return URGENCY[state.activity] * 1e18 + state.for;
      }
      case "cpu":
        return tasks.cpu[row]!;
      case "blocked":
        return tasks.blocked[row]!;
      case "waited":
        return tasks.waited[row]! + tasks.open[row]!;
      case "switches":
        return tasks.switches[row]!;
      case "longest":
        return tasks.longest[row]!;
      case "hub":
        return tasks.cpu[row]! + (offHub ? 0 : tasks.blocked[row]!);
      default:
        return 0;
    }
  }
}

function filterSubject(
  source: TaskSource,
  row: number,
  stateOf: (row: number) => TaskActivity,
): FilterSubject {
  const { tasks, threads } = source.store;
  const thread = threads.rowOf(tasks.thread[row]!);
  return {
    id: tasks.id[row]!,
    name: tasks.nameOf(row),
    group: source.groupName(tasks.group[row]!),
    hub: thread < 0 ? "" : threads.hubName(thread),
    activity: () => stateOf(row).activity,
    where: () => `${stateOf(row).place} ${stateOf(row).caller}`,
    age: () => stateOf(row).for,
  };
}

/** Which tasks, by id, a filter asks for; without one all do. Tasks that are forgotten match none. */
export function taskMatcher(source: TaskSource, text: string): (id: number) => boolean {
  const filter = parseTaskFilter(text);
  if (filter === null) return () => true;
  return (id) => {
    const row = source.store.tasks.rowOf(id);
    return row >= 0 && filter(filterSubject(source, row, (at) => source.describe(at)));
  };
}

function groupValue(group: GroupRow, key: string): number {
  switch (key) {
    case "state":
      return group.age;
    case "cpu":
      return group.times.cpu;
    case "blocked":
      return group.times.blocked;
    case "waited":
      return group.times.waited;
    case "switches":
      return group.switches;
    case "longest":
      return group.longest;
    default:
      return group.times.cpu + (group.offHub ? 0 : group.times.blocked);
  }
}

/** Ids of the threads that have a hub; null when none has, and all threads are alike. */
function hubThreads(store: Store): Set<number> | null {
  const { threads } = store;
  const hubs = new Set<number>();
  for (let row = 0; row < threads.size; row++) if (threads.hub[row] !== 0) hubs.add(threads.id[row]!);
  return hubs.size === 0 ? null : hubs;
}

export function countedTime(times: Times, kinds: Kinds): number {
  return (
    (kinds.cpu ? times.cpu : 0) +
    (kinds.blocked ? times.blocked : 0) +
    (kinds.waited ? times.waited : 0) +
    (kinds.idle ? times.idle : 0)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
