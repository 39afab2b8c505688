/** Turns the state of a Core into updates: a picture is all rows at one instant, a delta what differs from an older one. */
import {
  type Session,
  type Status,
  type SubscribeArguments,
  TaskState,
  ThreadState,
  type Update,
} from "@flamelet/protocol";
import type { Core, TaskRow, TimelineRow } from "./core.ts";

type Row = readonly number[];

const COLUMNS = {
  functions: ["name", "qualname", "file", "line", "kind"],
  groupAdd: ["id", "entry", "label"],
  groupUpd: ["id", "started", "ended", "switches", "cpu", "blocked", "idle", "waited", "longest"],
  threadAdd: ["id", "tid", "begin"],
  threadUpd: [
    ...["id", "name", "state", "hub", "task", "node", "since", "slice"],
    ...["slice_cpu", "slice_blocked", "slice_idle", "cpu", "blocked", "idle", "end"],
    ...["slice_node", "cost", "gil_wait", "gil_holder"],
  ],
  taskAdd: ["id", "thread", "begin", "hub"],
  taskUpd: [
    ...["id", "name", "group", "state", "node", "wait", "since"],
    ...["switches", "cpu", "blocked", "idle", "waited", "longest"],
  ],
  nodeAdd: ["id", "parent", "function", "group", "thread"],
  nodeUpd: ["id", "calls", "cpu", "blocked", "idle", "waited", "seeded"],
  sliceAdd: [
    ...["id", "thread", "task", "group", "node", "begin", "end", "cpu", "blocked", "idle"],
    ...["gil", "gil_holder", "gil_node"],
  ],
  holdAdd: ["id", "thread", "function"],
  holdUpd: ["id", "count", "cpu", "blocked", "longest"],
  gilAdd: ["id", "thread", "task", "holder"],
  gilUpd: ["id", "node", "holder_node", "looks", "waited"],
  timeline: ["thread", "task", "group", "node", "begin", "end", "blocked", "idle"],
} as const;

const SHED_NOTHING = {
  ...{ events: 0, tasks: 0, unmatched: 0, displaced: 0, slices: 0, strings: 0, threads: 0 },
  timeline: 0,
};

interface Table {
  /** What never changes, by id. */
  add: Map<number, Row>;
  /** What does. */
  upd: Map<number, Row>;
}

export interface Picture {
  version: number;
  now: number;
  status: Status;
  strings: readonly string[];
  functions: Row[];
  groups: Table;
  threads: Table;
  tasks: Table;
  nodes: Table;
  slices: Map<number, Row>;
  holds: Table;
  gil: Table;
  timeline: { first: number; rows: readonly TimelineRow[] };
  history: NonNullable<Update["history"]>["threads"];
  period: number;
}

function table<T extends { id: number }>(
  rows: Iterable<T>,
  add: (row: T) => Row,
  upd: (row: T) => Row,
): Table {
  const result: Table = { add: new Map(), upd: new Map() };
  for (const row of rows) {
    result.add.set(row.id, add(row));
    result.upd.set(row.id, upd(row));
  }
  return result;
}

function columns(names: readonly string[], rows: readonly Row[]): Record<string, number[]> {
  return Object.fromEntries(names.map((name, i) => [name, rows.map((row) => row[i]!)]));
}

const equal = (a: Row, b: Row): boolean => a.every((value, i) => value === b[i]);

/** `add`, `upd` and `del` of a section, or nothing when nothing is new. A new row is in both `add` and `upd`. */
function section(
  before: Table | undefined,
  after: Table,
  addNames: readonly string[],
  updNames: readonly string[],
  always: (upd: Row) => boolean = () => false,
): Record<string, unknown> | undefined {
  const added = [...after.add].filter(([id]) => !before?.add.has(id)).map(([, row]) => row);
  const updated: Row[] = [];
  for (const [id, row] of after.upd) {
    const old = before?.upd.get(id);
    if (old === undefined || !equal(old, row) || always(row)) updated.push(row);
  }
  const deleted = before ? [...before.add.keys()].filter((id) => !after.add.has(id)) : [];
  if (added.length + updated.length + deleted.length === 0) return undefined;
  return {
    ...(added.length > 0 && { add: columns(addNames, added) }),
    ...(updated.length > 0 && { upd: columns(updNames, updated) }),
    ...(deleted.length > 0 && { del: deleted }),
  };
}

/** Takes pictures of a core and samples its threads for the history. One for all clients: versions count up here. */
export class Camera {
  private version = 0;
  private readonly samples = new Map<number, { cpu: number; blocked: number; idle: number }>();
  private readonly rings = new Map<
    number,
    { cpu: number[]; blocked: number[]; idle: number[]; end: number }
  >();

  constructor(
    readonly core: Core,
    readonly period = 250e6,
    readonly kept = 480,
  ) {}

  /** Call once per period, at its end. */
  sample(now: number): void {
    this.core.settle(now);
    for (const thread of this.core.threads) {
      const old = this.samples.get(thread.id) ?? { cpu: 0, blocked: 0, idle: 0 };
      const ring = this.rings.get(thread.id) ?? { cpu: [], blocked: [], idle: [], end: 0 };
      if (thread.state === ThreadState.lives || thread.end > now - this.period) {
        for (const kind of ["cpu", "blocked", "idle"] as const) {
          ring[kind].push(thread[kind] - old[kind]);
          if (ring[kind].length > this.kept) ring[kind].shift();
        }
        ring.end = now;
      }
      this.rings.set(thread.id, ring);
      this.samples.set(thread.id, { cpu: thread.cpu, blocked: thread.blocked, idle: thread.idle });
    }
  }

  take(now: number): Picture {
    const { core } = this;
    core.settle(now);
    // Of a task the slice that lasts counts too.
    const longestOf = (task: TaskRow): number => {
      const thread = core.threads[task.thread - 1]!;
      const lasting = task.state === TaskState.current ? thread.sliceCpu + thread.sliceBlocked : 0;
      return Math.max(task.longest, lasting);
    };
    return {
      version: ++this.version,
      now,
      period: this.period,
      status: {
        state: core.state,
        clock: "monotonic+short",
        reading: 20,
        cost: { ...core.cost },
        switches: true,
        nodes: core.nodes.length,
        tasks: core.tasks.size,
        lost: { ...SHED_NOTHING },
      },
      strings: core.strings.slice(),
      functions: core.functions.slice(1).map((f) => [f.name, f.qualname, f.file, f.line, f.kind]),
      groups: table(
        core.groups,
        (g) => [g.id, g.entry, g.label],
        (g) => [g.id, g.started, g.ended, g.switches, g.cpu, g.blocked, g.idle, g.waited, g.longest],
      ),
      threads: table(
        core.threads,
        (t) => [t.id, t.tid, t.begin],
        (t) => [
          ...[t.id, t.name, t.state, t.hub],
          ...(t.state === ThreadState.lives ? [t.task.id, t.task.node.id] : [0, 0]),
          ...[t.since, t.slice],
          ...[t.sliceCpu, t.sliceBlocked, t.sliceIdle, t.cpu, t.blocked, t.idle, t.end],
          ...[t.state === ThreadState.lives ? core.sliceNode(t).id : 0, t.cost],
          ...[t.gilHolder === null ? 0 : 1, t.gilHolder?.id ?? 0],
        ],
      ),
      tasks: table(
        core.tasks.values(),
        (t) => [t.id, t.thread, t.begin, t.hub ? 1 : 0],
        (t) => [
          ...[t.id, t.name, t.group, t.state, t.node.id, t.wait, t.since],
          ...[t.switches, t.cpu, t.blocked, t.idle, t.waited, longestOf(t)],
        ],
      ),
      nodes: table(
        core.nodes,
        (n) => [n.id, n.parent, n.function, n.group, n.thread],
        (n) => [n.id, n.calls, n.cpu, n.blocked, n.idle, n.waited, n.seeded],
      ),
      slices: new Map(
        core.slices.map((s) => [
          s.id,
          [
            ...[s.id, s.thread, s.task, s.group, s.node, s.begin, s.end, s.cpu, s.blocked, s.idle],
            ...[s.gil, s.gilHolder, s.gilNode],
          ],
        ]),
      ),
      holds: table(
        core.holds,
        (h) => [h.id, h.thread, h.function],
        (h) => [h.id, h.count, h.cpu, h.blocked, h.longest],
      ),
      gil: table(
        core.gil,
        (w) => [w.id, w.thread, w.task, w.holder],
        (w) => [w.id, w.node, w.holderNode, w.looks, w.waited],
      ),
      timeline: { first: core.timelineFirst, rows: core.timeline.slice() },
      history: [...this.rings].map(([id, ring]) => ({
        id,
        end: ring.end,
        cpu: ring.cpu.slice(),
        blocked: ring.blocked.slice(),
        idle: ring.idle.slice(),
      })),
    };
  }
}

function only(nodes: Table, group: number): Table {
  const inGroup = (id: number): boolean => nodes.add.get(id)?.[3] === group;
  return {
    add: new Map([...nodes.add].filter(([id]) => inGroup(id))),
    upd: new Map([...nodes.upd].filter(([id]) => inGroup(id))),
  };
}

/** The update that leads from `before` (null: from nothing) to `after`. */
export function updateBetween(
  before: Picture | null,
  after: Picture,
  subscription = 1,
  args: SubscribeArguments = {},
): Update {
  const what = args.what ?? ["threads", "tasks", "tree", "slices"];
  const update: Record<string, unknown> = {
    subscription,
    version: after.version,
    since: before?.version ?? 0,
    now: after.now,
    status: after.status,
  };
  const firstString = before?.strings.length ?? 1;
  if (after.strings.length > firstString) {
    update.strings = { first: firstString, add: after.strings.slice(firstString) };
  }
  const knownFunctions = before?.functions.length ?? 0;
  if (after.functions.length > knownFunctions) {
    const add = columns(COLUMNS.functions, after.functions.slice(knownFunctions));
    update.functions = { first: knownFunctions + 1, add };
  }
  const put = (name: string, value: unknown): void => {
    if (value !== undefined) update[name] = value;
  };
  put("groups", section(before?.groups, after.groups, COLUMNS.groupAdd, COLUMNS.groupUpd));
  if (what.includes("threads")) {
    const lives = (row: Row): boolean => row[2] === ThreadState.lives;
    put("threads", section(before?.threads, after.threads, COLUMNS.threadAdd, COLUMNS.threadUpd, lives));
    if (before === null) {
      update.history = { period: after.period, threads: after.history };
    }
  }
  if (what.includes("tasks")) {
    put("tasks", section(before?.tasks, after.tasks, COLUMNS.taskAdd, COLUMNS.taskUpd));
  }
  if (what.includes("tree")) {
    const group = args.tree?.of === "group" ? args.tree.group : 0;
    const [old, now] =
      group === 0
        ? [before?.nodes, after.nodes]
        : [before ? only(before.nodes, group) : undefined, only(after.nodes, group)];
    put("nodes", section(old, now, COLUMNS.nodeAdd, COLUMNS.nodeUpd));
  }
  if (what.includes("slices")) {
    const added = [...after.slices].filter(([id]) => !before?.slices.has(id)).map(([, row]) => row);
    if (added.length > 0) update.slices = { add: columns(COLUMNS.sliceAdd, added) };
    put("holds", section(before?.holds, after.holds, COLUMNS.holdAdd, COLUMNS.holdUpd));
    put("gil", section(before?.gil, after.gil, COLUMNS.gilAdd, COLUMNS.gilUpd));
  }
  if (what.includes("timeline")) {
    const told = before === null ? 0 : before.timeline.first + before.timeline.rows.length;
    const first = Math.max(told, after.timeline.first);
    const rows = after.timeline.rows
      .slice(first - after.timeline.first)
      .map((r) => [r.thread, r.task, r.group, r.node, r.begin, r.end, r.blocked, r.idle]);
    if (rows.length > 0) update.timeline = { first, add: columns(COLUMNS.timeline, rows) };
  }
  return update as unknown as Update;
}

/** The body of the response to `initialize`. */
export function sessionOf(core: Core, program: string, epoch: number): Session {
  return {
    protocol: 1,
    version: "0.1.0",
    pid: 41207,
    program,
    python: "3.12.1",
    epoch,
    threshold: core.threshold,
  };
}
