/**
 * A plain model of what a flamelet core accounts, driven by events with instants. It exists to be obviously right, not
 * fast: tests hold the clients and the golden messages against it, and the fake server runs a made-up program on it.
 *
 * Instants and times are integers in ns. The events of one thread must come in order.
 */
import { FunctionKind, TaskState, ThreadState } from "@flamelet/protocol";

export interface FunctionRow {
  name: number;
  qualname: number;
  file: number;
  line: number;
  kind: number;
}

export interface Sums {
  cpu: number;
  blocked: number;
  idle: number;
  waited: number;
}

export interface GroupRow extends Sums {
  id: number;
  entry: number;
  label: number;
  started: number;
  ended: number;
  switches: number;
  longest: number;
}

export interface NodeRow extends Sums {
  id: number;
  parent: number;
  function: number;
  group: number;
  thread: number;
  depth: number;
  calls: number;
  /** Frames entered before the start. */
  seeded: number;
  children: Map<number, NodeRow>;
}

export interface TaskRow extends Sums {
  id: number;
  thread: number;
  begin: number;
  hub: boolean;
  name: number;
  label: number;
  group: number;
  state: number;
  node: NodeRow;
  wait: number;
  since: number;
  switches: number;
  longest: number;
}

export interface ThreadRow {
  id: number;
  tid: number;
  begin: number;
  name: number;
  state: number;
  hub: number;
  task: TaskRow;
  /** Instant of the last event. */
  since: number;
  /** Up to where time is accounted; a snapshot moves it, but not `since`. */
  accounted: number;
  /** Where the current slice began. */
  slice: number;
  sliceCpu: number;
  sliceBlocked: number;
  sliceIdle: number;
  /** How much of the slice each node had. */
  sliceNodes: Map<NodeRow, number>;
  cpu: number;
  blocked: number;
  idle: number;
  end: number;
  /** What the profiler itself took: events times what one costs. */
  cost: number;
  /** Who holds the GIL while this thread waits for it; null: it does not wait. */
  gilHolder: ThreadRow | null;
  /** How much of the current slice it waited for the GIL; who held it last, and where. */
  sliceGil: number;
  sliceGilHolder: number;
  sliceGilNode: number;
  onProcessor: boolean;
  /** Roots by group. */
  roots: Map<number, NodeRow>;
  /** Ended tasks, oldest first. */
  endedTasks: TaskRow[];
}

export interface SliceRow {
  id: number;
  thread: number;
  task: number;
  group: number;
  node: number;
  begin: number;
  end: number;
  cpu: number;
  blocked: number;
  idle: number;
  gil: number;
  gilHolder: number;
  gilNode: number;
}

/** Long slices of threads with a hub, by the function in which most of each was spent. */
export interface HoldRow {
  id: number;
  thread: number;
  function: number;
  count: number;
  cpu: number;
  blocked: number;
  longest: number;
}

/** Who waited for the GIL, and who held it. */
export interface GilRow {
  id: number;
  thread: number;
  task: number;
  holder: number;
  node: number;
  holderNode: number;
  looks: number;
  waited: number;
}

/** A slice, long or short. */
export interface TimelineRow {
  thread: number;
  task: number;
  group: number;
  /** Where it ended. */
  node: number;
  begin: number;
  end: number;
  blocked: number;
  idle: number;
}

export interface CoreOptions {
  /** Slices longer than this are long. */
  threshold?: number;
  /** Ended tasks kept per thread. */
  keepEnded?: number;
  /** Long slices kept. */
  keepSlices?: number;
  /** Slices of the timeline kept, of all threads. */
  keepTimeline?: number;
  /** What the profiler adds to a call with its return, and to a switch. */
  cost?: { call: number; switch: number };
}

export class Core {
  readonly threshold: number;
  readonly keepEnded: number;
  readonly keepSlices: number;
  readonly keepTimeline: number;
  readonly cost: { readonly call: number; readonly switch: number };
  readonly strings: string[] = [""];
  readonly functions: FunctionRow[] = [{ name: 0, qualname: 0, file: 0, line: 0, kind: FunctionKind.made }];
  readonly groups: GroupRow[] = [newGroup(0, 0, 0)];
  readonly threads: ThreadRow[] = [];
  readonly tasks = new Map<number, TaskRow>();
  readonly nodes: NodeRow[] = [];
  readonly slices: SliceRow[] = [];
  readonly holds: HoldRow[] = [];
  readonly gil: GilRow[] = [];
  /** The last slices; the first of them has the number `timelineFirst`. */
  readonly timeline: TimelineRow[] = [];
  timelineFirst = 0;
  state: "running" | "stopped" | "ended" = "running";
  private readonly stringIds = new Map<string, number>([["", 0]]);
  private readonly functionIds = new Map<string, number>();
  private readonly groupIds = new Map<string, number>();
  private lastTask = 0;
  private lastSlice = 0;

  constructor(options: CoreOptions = {}) {
    this.threshold = options.threshold ?? 100e6;
    this.keepEnded = options.keepEnded ?? 1024;
    this.keepSlices = options.keepSlices ?? 256;
    this.keepTimeline = options.keepTimeline ?? 16384;
    this.cost = options.cost ?? { call: 0, switch: 0 };
  }

  string(text: string): number {
    let id = this.stringIds.get(text);
    if (id === undefined) {
      id = this.strings.push(text) - 1;
      this.stringIds.set(text, id);
    }
    return id;
  }

  /** Strings are interned in the order of the arguments. */
  addFunction(
    name: string,
    qualname: string,
    file: string,
    line: number,
    kind: number = FunctionKind.python,
  ): number {
    const key = JSON.stringify([file, qualname, line]);
    let id = this.functionIds.get(key);
    if (id === undefined) {
      const row = {
        name: this.string(name),
        qualname: this.string(qualname),
        file: this.string(file),
        line,
        kind,
      };
      id = this.functions.push(row) - 1;
      this.functionIds.set(key, id);
    }
    return id;
  }

  attachThread(at: number, tid: number, name: string): ThreadRow {
    const thread = {
      id: this.threads.length + 1,
      tid,
      begin: at,
      name: this.string(name),
      state: ThreadState.lives as number,
      hub: 0,
      since: at,
      accounted: at,
      slice: at,
      sliceCpu: 0,
      sliceBlocked: 0,
      sliceIdle: 0,
      sliceNodes: new Map<NodeRow, number>(),
      cpu: 0,
      blocked: 0,
      idle: 0,
      end: 0,
      cost: 0,
      gilHolder: null,
      sliceGil: 0,
      sliceGilHolder: 0,
      sliceGilNode: 0,
      onProcessor: true,
      roots: new Map<number, NodeRow>(),
      endedTasks: [],
    };
    this.root(thread, 0);
    const task = this.newTask(at, thread, false);
    task.state = TaskState.current;
    task.switches = 1;
    this.group(0).switches++;
    const row: ThreadRow = Object.assign(thread, { task });
    this.threads.push(row);
    return row;
  }

  /** A task that exists but has not run: it is parked at its thread's root of group 0. */
  createTask(
    at: number,
    thread: ThreadRow,
    options: { hub?: boolean; name?: string; label?: string } = {},
  ): TaskRow {
    const task = this.newTask(at, thread, options.hub === true);
    if (options.name !== undefined) task.name = this.string(options.name);
    if (options.label !== undefined) task.label = this.string(options.label);
    if (task.hub) thread.hub = task.id;
    return task;
  }

  enter(at: number, thread: ThreadRow, fn: number): void {
    this.event(at, thread);
    const task = thread.task;
    let node = task.node;
    if (task.group === 0) {
      this.joinGroup(task, fn);
      node = this.root(thread, task.group);
    }
    let child = node.children.get(fn);
    if (child === undefined) {
      child = this.newNode(node, fn, task.group, thread.id);
      node.children.set(fn, child);
    }
    child.calls++;
    thread.cost += this.cost.call;
    task.node = child;
  }

  /** As enter(), for a frame that was on the stack already when profiling was started. */
  seed(at: number, thread: ThreadRow, fn: number): void {
    const { cost } = thread;
    this.enter(at, thread, fn);
    thread.task.node.calls--;
    thread.task.node.seeded++;
    thread.cost = cost;
  }

  /** From now on the thread waits for the GIL while `holder` has it; null: no longer. Not an event. */
  waitForGil(at: number, thread: ThreadRow, holder: ThreadRow | null): void {
    this.account(at, thread);
    thread.gilHolder = holder;
  }

  leave(at: number, thread: ThreadRow): void {
    this.event(at, thread);
    const parent = this.nodes[thread.task.node.parent - 1];
    if (parent === undefined) throw new Error("a return without its call");
    thread.task.node = parent;
  }

  /** The thread leaves the processor (false) or comes back. Not an event: nobody sees it happen. */
  processor(at: number, thread: ThreadRow, on: boolean): void {
    this.account(at, thread);
    thread.onProcessor = on;
  }

  /** The current task is parked in `wait`, or ends, and `to` becomes current. */
  switchTo(
    at: number,
    thread: ThreadRow,
    to: TaskRow,
    options: { wait?: string; ends?: boolean } = {},
  ): void {
    this.event(at, thread);
    thread.cost += this.cost.switch;
    this.endSlice(at, thread);
    const from = thread.task;
    from.state = TaskState.parked;
    from.since = at;
    from.wait = this.string(options.wait ?? "");
    if (options.ends) this.endTask(at, thread, from);
    this.addWait(at, to);
    to.switches++;
    this.group(to.group).switches++;
    to.state = TaskState.current;
    to.since = at;
    to.wait = 0;
    thread.task = to;
  }

  /** A task that is not current has ended. */
  end(at: number, thread: ThreadRow, task: TaskRow): void {
    this.event(at, thread);
    this.endTask(at, thread, task);
  }

  endThread(at: number, thread: ThreadRow): void {
    this.event(at, thread);
    this.endSlice(at, thread);
    thread.task.state = TaskState.parked;
    thread.task.since = at;
    for (const task of this.tasks.values()) {
      if (task.thread === thread.id && task.state !== TaskState.ended) this.endTask(at, thread, task);
    }
    thread.state = ThreadState.ended;
    thread.end = at;
  }

  /** Accounts what goes on up to `now`, so that the rows can be read. */
  settle(now: number): void {
    for (const thread of this.threads) if (thread.state === ThreadState.lives) this.account(now, thread);
  }

  group(id: number): GroupRow {
    return this.groups[id]!;
  }

  private account(at: number, thread: ThreadRow): void {
    const elapsed = at - thread.accounted;
    if (elapsed < 0) throw new Error(`time runs backwards: ${at} after ${thread.accounted}`);
    thread.accounted = at;
    if (elapsed === 0) return;
    const task = thread.task;
    // Off the processor in its entry function, which polls, a hub has nothing to do. Anywhere else somebody waits.
    const polls = task.hub && task.node.depth === 1;
    const kind = thread.onProcessor ? "cpu" : polls ? "idle" : "blocked";
    task[kind] += elapsed;
    task.node[kind] += elapsed;
    thread[kind] += elapsed;
    this.group(task.group)[kind] += elapsed;
    if (kind === "cpu") thread.sliceCpu += elapsed;
    else if (kind === "idle") thread.sliceIdle += elapsed;
    else thread.sliceBlocked += elapsed;
    thread.sliceNodes.set(task.node, (thread.sliceNodes.get(task.node) ?? 0) + elapsed);
    if (thread.gilHolder !== null) {
      thread.sliceGil += elapsed;
      thread.sliceGilHolder = thread.gilHolder.id;
      thread.sliceGilNode = thread.gilHolder.task.node.id;
      this.addGilWait(thread, thread.gilHolder, elapsed);
    }
  }

  private addGilWait(thread: ThreadRow, holder: ThreadRow, elapsed: number): void {
    const { task } = thread;
    let row = this.gil.find((r) => r.task === task.id && r.holder === holder.id);
    if (row === undefined) {
      const none = { node: 0, holderNode: 0, looks: 0, waited: 0 };
      row = { id: this.gil.length + 1, thread: thread.id, task: task.id, holder: holder.id, ...none };
      this.gil.push(row);
    }
    row.node = task.node.id;
    row.holderNode = holder.task.node.id;
    row.looks++;
    row.waited += elapsed;
  }

  /** Where most of the current slice was spent so far. */
  sliceNode(thread: ThreadRow): NodeRow {
    let node = thread.task.node;
    let most = -1;
    for (const [candidate, time] of thread.sliceNodes) if (time > most) [node, most] = [candidate, time];
    return node;
  }

  private addHold(thread: ThreadRow, fn: number): void {
    let hold = this.holds.find((row) => row.thread === thread.id && row.function === fn);
    if (hold === undefined) {
      const none = { count: 0, cpu: 0, blocked: 0, longest: 0 };
      hold = { id: this.holds.length + 1, thread: thread.id, function: fn, ...none };
      this.holds.push(hold);
    }
    hold.count++;
    hold.cpu += thread.sliceCpu;
    hold.blocked += thread.sliceBlocked;
    hold.longest = Math.max(hold.longest, thread.sliceCpu + thread.sliceBlocked);
  }

  private event(at: number, thread: ThreadRow): void {
    this.account(at, thread);
    thread.since = at;
  }

  private endSlice(at: number, thread: ThreadRow): void {
    const task = thread.task;
    // A hub that polls for long has nothing to do; that is no long slice.
    const busy = thread.sliceCpu + thread.sliceBlocked;
    const group = this.group(task.group);
    task.longest = Math.max(task.longest, busy);
    group.longest = Math.max(group.longest, busy);
    if (busy > this.threshold) {
      const node = this.sliceNode(thread);
      this.slices.push({
        id: ++this.lastSlice,
        thread: thread.id,
        task: task.id,
        group: task.group,
        node: node.id,
        begin: thread.slice,
        end: at,
        cpu: thread.sliceCpu,
        blocked: thread.sliceBlocked,
        idle: thread.sliceIdle,
        gil: thread.sliceGil,
        gilHolder: thread.sliceGilHolder,
        gilNode: thread.sliceGilNode,
      });
      if (thread.hub !== 0) this.addHold(thread, node.function);
      if (this.slices.length > this.keepSlices) this.slices.shift();
    }
    this.timeline.push({
      thread: thread.id,
      task: task.id,
      group: task.group,
      node: task.node.id,
      begin: thread.slice,
      end: at,
      blocked: thread.sliceBlocked,
      idle: thread.sliceIdle,
    });
    if (this.timeline.length > 2 * this.keepTimeline) {
      this.timelineFirst += this.timeline.splice(0, this.keepTimeline).length;
    }
    thread.slice = at;
    thread.sliceCpu = 0;
    thread.sliceBlocked = 0;
    thread.sliceIdle = 0;
    thread.sliceGil = 0;
    thread.sliceGilHolder = 0;
    thread.sliceGilNode = 0;
    thread.sliceNodes.clear();
  }

  private endTask(at: number, thread: ThreadRow, task: TaskRow): void {
    this.addWait(at, task);
    task.state = TaskState.ended;
    task.since = at;
    task.wait = 0;
    this.group(task.group).ended++;
    thread.endedTasks.push(task);
    if (thread.endedTasks.length > this.keepEnded) this.tasks.delete(thread.endedTasks.shift()!.id);
  }

  private newTask(at: number, thread: Omit<ThreadRow, "task">, hub: boolean): TaskRow {
    const task: TaskRow = {
      id: ++this.lastTask,
      thread: thread.id,
      begin: at,
      hub,
      name: 0,
      label: 0,
      group: 0,
      state: TaskState.parked,
      node: thread.roots.get(0)!,
      wait: 0,
      since: at,
      switches: 0,
      longest: 0,
      cpu: 0,
      blocked: 0,
      idle: 0,
      waited: 0,
    };
    this.tasks.set(task.id, task);
    this.group(0).started++;
    return task;
  }

  /** A parked task has waited up to now. */
  private addWait(at: number, task: TaskRow): void {
    const waited = at - task.since;
    task.waited += waited;
    task.node.waited += waited;
    this.group(task.group).waited += waited;
  }

  /** What the task did before its first call stays in group 0. */
  private joinGroup(task: TaskRow, entry: number): void {
    const key = `${entry} ${task.label}`;
    let id = this.groupIds.get(key);
    if (id === undefined) {
      id = this.groups.push(newGroup(this.groups.length, entry, task.label)) - 1;
      this.groupIds.set(key, id);
    }
    this.group(0).started--;
    task.group = id;
    this.group(id).started++;
  }

  private root(thread: Omit<ThreadRow, "task">, group: number): NodeRow {
    let root = thread.roots.get(group);
    if (root === undefined) {
      root = this.newNode(null, 0, group, thread.id);
      thread.roots.set(group, root);
    }
    return root;
  }

  private newNode(parent: NodeRow | null, fn: number, group: number, thread: number): NodeRow {
    const node: NodeRow = {
      id: this.nodes.length + 1,
      parent: parent?.id ?? 0,
      function: fn,
      group,
      thread,
      depth: parent === null ? 0 : parent.depth + 1,
      calls: 0,
      seeded: 0,
      cpu: 0,
      blocked: 0,
      idle: 0,
      waited: 0,
      children: new Map(),
    };
    this.nodes.push(node);
    return node;
  }
}

function newGroup(id: number, entry: number, label: number): GroupRow {
  const none = { started: 0, ended: 0, switches: 0, cpu: 0, blocked: 0, idle: 0, waited: 0, longest: 0 };
  return { id, entry, label, ...none };
}
