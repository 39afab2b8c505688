import { type Status, TaskState, ThreadState, type Update } from "@flamelet/protocol";
import { DEFAULT_PERIOD, HistoryRing } from "./history.ts";
import { BadUpdate } from "./tables/columns.ts";
import { FunctionTable } from "./tables/functions.ts";
import { GilTable } from "./tables/gil.ts";
import { GroupTable } from "./tables/groups.ts";
import { HoldTable } from "./tables/holds.ts";
import { NodeTable } from "./tables/nodes.ts";
import { SliceTable } from "./tables/slices.ts";
import { StringTable } from "./tables/strings.ts";
import { TaskTable } from "./tables/tasks.ts";
import { ThreadTable } from "./tables/threads.ts";
import { Timeline } from "./timeline.ts";

/** The update builds on a version that this store does not have: subscribe again. Nothing was changed. */
export class MissedUpdate extends Error {
  override name = "MissedUpdate";
}

/** What an update changed, so that a view paints only what it must. */
export interface Changes {
  /** Everything known before is forgotten: ids start anew. */
  reset: boolean;
  /** Strings or functions. */
  names: boolean;
  groups: boolean;
  threads: boolean;
  tasks: boolean;
  /** Nodes or their times, waiting that goes on included. */
  tree: boolean;
  /** Long slices, holds, or waits for the GIL. */
  slices: boolean;
  timeline: boolean;
  history: boolean;
}

/**
 * All that is known of a process, as of the last update. Every table is a struct of arrays; arrays are replaced when a
 * table grows, and tables when everything is forgotten: read them through the store each time. Only apply() writes.
 */
export class Store {
  /** Of the server's picture; 0: empty. */
  version = 0;
  /** Instant of the picture. */
  now = 0;
  /** null before the first update. */
  status: Status | null = null;
  /** Counts up when everything is forgotten. */
  generation = 0;
  strings!: StringTable;
  functions!: FunctionTable;
  groups!: GroupTable;
  threads!: ThreadTable;
  tasks!: TaskTable;
  nodes!: NodeTable;
  slices!: SliceTable;
  holds!: HoldTable;
  gil!: GilTable;
  timeline!: Timeline;
  private histories!: Map<number, HistoryRing>;
  private period = DEFAULT_PERIOD;
  /** Groups and nodes whose `open` is not 0. */
  private openGroups: number[] = [];
  private openNodes: number[] = [];

  constructor() {
    this.forget();
  }

  /** The last two minutes of a thread; undefined for an unknown one. */
  history(thread: number): HistoryRing | undefined {
    return this.histories.get(thread);
  }

  /** Throws MissedUpdate, or BadUpdate, after which the store accepts only a whole picture. */
  apply(update: Update): Changes {
    const reset = update.since === 0;
    if (!reset && update.since !== this.version) {
      throw new MissedUpdate(`the update builds on version ${update.since}, known is ${this.version}`);
    }
    if (reset) this.forget();
    const before = this.now;
    try {
      this.applySections(update);
    } catch (error) {
      this.version = 0;
      throw error;
    }
    this.version = update.version;
    this.now = update.now;
    this.status = update.status;
    const waiting = this.addOpenWaits();
    return {
      reset,
      names: reset || update.strings !== undefined || update.functions !== undefined,
      groups: reset || update.groups !== undefined || waiting,
      threads: reset || update.threads !== undefined,
      tasks: reset || update.tasks !== undefined || (waiting && update.now !== before),
      tree: reset || update.nodes !== undefined || (waiting && update.now !== before),
      slices: reset || update.slices !== undefined || update.holds !== undefined || update.gil !== undefined,
      timeline: reset || update.timeline !== undefined,
      history: reset || update.threads !== undefined,
    };
  }

  private forget(): void {
    this.generation++;
    this.version = 0;
    this.now = 0;
    this.strings = new StringTable();
    this.functions = new FunctionTable(this.strings);
    this.groups = new GroupTable(this.strings, this.functions);
    this.threads = new ThreadTable(this.strings);
    this.tasks = new TaskTable(this.strings, this.groups);
    this.nodes = new NodeTable(this.functions);
    this.slices = new SliceTable();
    this.holds = new HoldTable();
    this.gil = new GilTable();
    this.timeline = new Timeline();
    this.histories = new Map();
    this.period = DEFAULT_PERIOD;
    this.openGroups = [];
    this.openNodes = [];
  }

  private applySections(update: Update): void {
    const { strings, functions, groups, threads, tasks, nodes, slices, holds, gil, timeline } = update;
    if (update.now < this.now) throw new BadUpdate(`now: ${update.now} is before ${this.now}`);
    if (strings) this.strings.add(strings.first, strings.add);
    if (functions) this.functions.add(functions.first, functions.add);
    if (groups?.add) this.groups.add(groups.add);
    if (groups?.upd) this.groups.upd(groups.upd);
    if (threads?.add) this.threads.add(threads.add);
    const totals = this.threadTotals();
    if (threads?.upd) this.threads.upd(threads.upd);
    if (nodes?.add) this.nodes.add(nodes.add);
    if (nodes?.upd) this.nodes.upd(nodes.upd);
    if (tasks?.add) this.tasks.add(tasks.add);
    if (tasks?.upd) this.tasks.upd(tasks.upd);
    if (tasks?.del) this.tasks.del(tasks.del);
    this.markHubs();
    if (slices) this.slices.add(slices.add);
    if (holds?.add) this.holds.add(holds.add);
    if (holds?.upd) this.holds.upd(holds.upd);
    if (gil?.add) this.gil.add(gil.add);
    if (gil?.upd) this.gil.upd(gil.upd);
    if (timeline) this.timeline.add(timeline.first, timeline.add);
    this.timeline.count(update.status.lost);
    this.applyHistory(update, totals);
    if (threads?.del) {
      this.threads.del(threads.del);
      this.timeline.del(threads.del);
      for (const id of threads.del) this.histories.delete(id);
    }
  }

  /** cpu, blocked and idle of each thread before the update. */
  private threadTotals(): Map<number, readonly [number, number, number]> {
    const { size, id, cpu, blocked, idle } = this.threads;
    const totals = new Map<number, readonly [number, number, number]>();
    for (let row = 0; row < size; row++) totals.set(id[row]!, [cpu[row]!, blocked[row]!, idle[row]!]);
    return totals;
  }

  /** A task can become known as its thread's hub after it was added. */
  private markHubs(): void {
    for (let row = 0; row < this.threads.size; row++) {
      const task = this.tasks.rowOf(this.threads.hub[row]!);
      if (task >= 0) this.tasks.hub[task] = 1;
    }
  }

  private applyHistory(update: Update, totals: ReadonlyMap<number, readonly [number, number, number]>): void {
    if (update.history) {
      this.period = update.history.period;
      for (const thread of update.history.threads) this.ring(thread.id).load(thread);
    }
    const { threads } = this;
    for (let row = 0; row < threads.size; row++) {
      const ring = this.ring(threads.id[row]!);
      // In a whole picture the totals are those of the thread's life: nothing says when they came.
      if (update.since === 0) continue;
      const from = Math.max(this.now, threads.begin[row]!);
      const [cpu, blocked, idle] = totals.get(threads.id[row]!) ?? [0, 0, 0];
      const to =
        threads.state[row] === ThreadState.ended ? Math.min(threads.end[row]!, update.now) : update.now;
      ring.add(from, to, threads.cpu[row]! - cpu, threads.blocked[row]! - blocked, threads.idle[row]! - idle);
    }
  }

  private ring(thread: number): HistoryRing {
    let ring = this.histories.get(thread);
    if (ring === undefined) {
      ring = new HistoryRing(this.period);
      this.histories.set(thread, ring);
    }
    return ring;
  }

  /** A parked task waits since `since`: that goes to the task, its node and its group. Returns whether any does. */
  private addOpenWaits(): boolean {
    const { tasks, groups, nodes, now } = this;
    for (const id of this.openGroups) groups.open[id] = 0;
    for (const id of this.openNodes) nodes.open[id] = 0;
    this.openGroups.length = 0;
    this.openNodes.length = 0;
    let waiting = false;
    for (let row = 0; row < tasks.size; row++) {
      if (tasks.state[row] !== TaskState.parked) {
        tasks.open[row] = 0;
        continue;
      }
      waiting = true;
      const open = Math.max(0, now - tasks.since[row]!);
      tasks.open[row] = open;
      const group = tasks.group[row]!;
      if (groups.has(group)) {
        if (groups.open[group] === 0) this.openGroups.push(group);
        groups.open[group]! += open;
      }
      const node = tasks.node[row]!;
      if (nodes.has(node)) {
        if (nodes.open[node] === 0) this.openNodes.push(node);
        nodes.open[node]! += open;
      }
    }
    return waiting;
  }
}
