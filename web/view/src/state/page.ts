import {
  DEFAULT_KINDS,
  DEFAULT_THRESHOLD,
  describeTask,
  FunctionStats,
  type HubReport,
  hubReport,
  Icicle,
  idleFunctions,
  type Kind,
  type Kinds,
  Modules,
  type Order,
  type Scope,
  Search,
  type ServedProcess,
  type Session,
  Store,
  type TaskActivity,
  type TimelineSlice,
  Tree,
} from "@flamelet/model";
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { cutPlace } from "../canvas/cut.ts";
import { ModuleColours } from "../canvas/module-colours.ts";
import { FOLLOW, type TimeWindow } from "../canvas/time-window.ts";
import type { FlameController } from "../flame/controller.ts";
import type { ListHandle } from "../parts/virtual-table.tsx";
import type { TimelineController } from "../timeline/controller.ts";
import { GroupHubs } from "./group-hubs.ts";
import { OwnCostSamples } from "./own-cost.ts";

export type ViewName = "now" | "tasks" | "flame" | "timeline" | "table";
export const VIEWS: readonly { name: ViewName; title: string }[] = [
  { name: "now", title: "Now" },
  { name: "tasks", title: "Tasks" },
  { name: "flame", title: "Flame" },
  { name: "timeline", title: "Timeline" },
  { name: "table", title: "Table" },
];

/** What is selected. Function ids and task ids are the server's and outlive a reconnect, so a selection does too. */
export type Selection =
  | { kind: "frame"; path: readonly number[] }
  | { kind: "function"; fn: number }
  | { kind: "task"; id: number }
  /** A row of the list of tasks: `group` is the store's id, -1 with another grouping. */
  | { kind: "group"; key: string; group: number; title: string }
  | null;

/**
 * The part of the flame in sight: a frame, given by its path, and within its width the window lo to hi (0 to 1). Bound to
 * a frame, not to places on the screen, so that it survives updates.
 */
export interface Zoom {
  path: readonly number[];
  lo: number;
  hi: number;
}
export const WHOLE: Zoom = { path: [], lo: 0, hi: 1 };

/** A slice of the timeline as it was when it was chosen: its row may be dropped later. */
export interface SelectedSlice extends TimelineSlice {
  thread: number;
  /** Function ids, from the entry function to where it ended. */
  path: readonly number[];
  lasts: boolean;
}

export interface Connection {
  state: "connecting" | "live" | "lost" | "ended" | "refused";
  /** Date.now() at which the state began. */
  since: number;
  /** Date.now() at which a lost connection is tried again. */
  retryAt?: number;
  refusal?: { id: number; message: string; protocol?: { min: number; max: number } };
}

/** The user's processes that are served, as they were told. */
export interface ProcessList {
  processes: readonly ServedProcess[];
  /** Date.now() of the answer. */
  at: number;
}

/** What the page asks of whoever connects it. */
export interface Host {
  /** Tries a lost connection now. */
  retry(): void;
  /** Frozen: updates are no longer applied. Live again: the whole picture comes anew. */
  setFrozen(frozen: boolean): void;
  /** Whether the timeline is looked at: only then it is asked for. */
  watchTimeline(wanted: boolean): void;
  /** Asks for `page.processes` anew. */
  askProcesses(): void;
  /** A theme chosen by the user, null: the system's; to be remembered. */
  rememberTheme(theme: Theme | null): void;
}

export type Theme = "dark" | "light";
export type Grouping = "entry" | "state" | "waits" | "hub" | "none";
export type ColourBy = "module" | "kind";

export interface SortState {
  key: string;
  descending: boolean;
}

/** Scope: the groups on threads that have a hub. The same as EVERYTHING where there are no others, or no hubs. */
export const ON_HUBS = -1;
/** Scope: all groups, those of threads without a hub included. */
export const EVERYTHING = -2;

/** Text changes at 2 Hz at most: faster can't be read. Strips and flame follow every update. */
const TEXT_PERIOD = 480;
const NO_FUNCTIONS: readonly number[] = [];
const NOTHING_UNFOLDED: ReadonlySet<string> = new Set();

/** All that the page shows and remembers: one store, one tree, one selection, one set of kinds. */
export class Page {
  readonly store = new Store();
  readonly modules = new Modules(this.store);
  readonly colours = new ModuleColours(this.modules);
  readonly tree = new Tree(this.store);
  readonly icicle = new Icicle(this.tree);
  readonly search = new Search(this.tree);
  readonly stats = new FunctionStats(this.tree);

  readonly session: Signal<Session | null> = signal(null);
  readonly connection: Signal<Connection> = signal({ state: "connecting", since: Date.now() });
  /** null: not known, or the server is too old to say. */
  readonly processes: Signal<ProcessList | null> = signal(null);
  /** Counts applied updates. */
  readonly updates = signal(0);
  /** Follows `updates` at TEXT_PERIOD. */
  readonly ticks = signal(0);
  readonly frozen = signal(false);

  readonly view: Signal<ViewName> = signal("now");
  readonly theme: Signal<Theme | null> = signal(null);
  readonly kinds: Signal<Kinds> = signal(DEFAULT_KINDS);
  readonly groupHubs = new GroupHubs(this.store);
  readonly ownCost = new OwnCostSamples(this.store);
  /** Whose calls Flame and Table show: a group, or ON_HUBS or EVERYTHING. */
  readonly scope = signal(ON_HUBS);
  readonly selection: Signal<Selection> = signal(null);
  readonly zoom: Signal<Zoom> = signal(WHOLE);
  private zooms: Zoom[] = [];
  readonly timeWindow: Signal<TimeWindow> = signal(FOLLOW);
  /** The slice chosen in the timeline; its task is the selection. */
  readonly slice: Signal<SelectedSlice | null> = signal(null);
  /** Functions hidden by hand. */
  readonly hidden: Signal<ReadonlySet<number>> = signal(new Set<number>());
  /** Idle waits (next request, empty queue) are hidden while waited time is counted: they would be all that one sees. */
  readonly hideIdle = signal(true);
  readonly order: Signal<Order> = signal("name");
  readonly colourBy: Signal<ColourBy> = signal("module");
  readonly listOpen = signal(true);

  /** Search over functions: Flame and Table. */
  readonly query = signal("");
  /** Filter over tasks: Tasks and the list beside the flame. */
  readonly taskQuery = signal("");
  readonly grouping: Signal<Grouping> = signal("entry");
  readonly taskSort: Signal<SortState> = signal({ key: "hub", descending: true });
  readonly tableSort: Signal<SortState> = signal({ key: "share", descending: true });
  /** Groups whose tasks are shown in Tasks, by the key of the group row. null: not chosen yet. */
  readonly unfolded: Signal<ReadonlySet<string> | null> = signal(null);
  /** The same for the list beside the flame. */
  readonly listUnfolded: Signal<ReadonlySet<string> | null> = signal(NOTHING_UNFOLDED);
  readonly pinned: Signal<readonly number[]> = signal([]);
  /** A pinned task stands twice in the list: which of the two lines is selected. */
  readonly pinnedFocus = signal(false);
  /** null: only when the program itself has ended. */
  readonly showEnded: Signal<boolean | null> = signal(null);
  readonly sheet = signal(false);
  readonly narrow = signal(false);

  /** The flame on the screen, null in other views: keys go there. */
  flame: FlameController | null = null;

  /** The timeline on the screen, null in other views. */
  timeline: TimelineController | null = null;

  /** The list that the view consists of, null in other views. */
  list: ListHandle | null = null;
  readonly setList = (handle: ListHandle | null): void => {
    this.list = handle;
  };

  /** What the search field of this view writes to. */
  readonly activeQuery: ReadonlySignal<Signal<string>> = computed(() =>
    this.view.value === "tasks" || this.view.value === "timeline" ? this.taskQuery : this.query,
  );

  private lastTick = 0;
  private tickTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly host: Host) {}

  /** Call after store.apply(). */
  updated(): void {
    this.updates.value++;
    this.ownCost.sample();
    this.updateTimes.push(performance.now());
    if (this.updateTimes.length > 20) this.updateTimes.shift();
    const left = this.lastTick + TEXT_PERIOD - performance.now();
    if (left <= 0) this.tick();
    else this.tickTimer ??= setTimeout(() => this.tick(), left);
  }

  /** Updates per second of the last few. */
  rate(): number {
    const times = this.updateTimes;
    const span = performance.now() - (times[0] ?? 0);
    return times.length < 2 || span <= 0 ? 0 : (times.length * 1000) / span;
  }
  private readonly updateTimes: number[] = [];

  private tick(): void {
    clearTimeout(this.tickTimer);
    this.tickTimer = undefined;
    this.lastTick = performance.now();
    this.ticks.value++;
  }

  /**
   * Brings the tree to the store's state and to the chosen scope, hidden functions and search. Cheap when nothing
   * changed; whoever paints from the tree calls it first.
   */
  refreshTree(): void {
    const wanted = this.scopeGroups();
    if (!sameScope(this.tree.scope, wanted)) this.tree.setScope(wanted);
    const idle = this.idleHidden();
    if (this.hidden.value !== this.appliedHidden || idle !== this.appliedIdle) {
      this.tree.setHidden([...this.hidden.value, ...idle]);
      this.appliedHidden = this.hidden.value;
      this.appliedIdle = idle;
    }
    this.tree.update();
    if (this.search.query !== this.query.value) this.search.set(this.query.value);
  }
  private appliedHidden: ReadonlySet<number> | null = null;
  private appliedIdle: readonly number[] = NO_FUNCTIONS;

  private scopeGroups(): Scope {
    const scope = this.scope.value;
    if (scope === EVERYTHING) return "all";
    if (scope !== ON_HUBS) return [scope];
    return this.groupHubs.apart() ?? "all";
  }

  /** Idle functions that are hidden now, the same array while nothing changed. */
  idleHidden(): readonly number[] {
    if (!this.hideIdle.value || !this.kinds.value.waited) return NO_FUNCTIONS;
    const { store } = this;
    if (this.idle.size !== store.functions.size || this.idle.generation !== store.generation) {
      this.idle = { size: store.functions.size, generation: store.generation, ids: idleFunctions(store) };
    }
    return this.idle.ids;
  }
  private idle = { size: -1, generation: -1, ids: NO_FUNCTIONS };

  /** Who held the hubs; made once an update, however many parts of the page ask. */
  report(): HubReport {
    const { version, generation } = this.store;
    const known = this.lastReport;
    if (known !== null && known.version === version && known.generation === generation) return known.value;
    const threshold = this.session.value?.threshold;
    const value = hubReport(this.store, {
      modules: this.modules,
      ...(threshold === undefined ? {} : { threshold }),
    });
    this.lastReport = { version, generation, value };
    return value;
  }
  private lastReport: { version: number; generation: number; value: HubReport } | null = null;

  /** Sums per function of the tree, brought up to date, and hues for modules that are new. */
  refreshStats(): void {
    this.refreshTree();
    const revision = `${this.store.generation} ${this.tree.revision}`;
    if (revision === this.statsRevision) return;
    this.statsRevision = revision;
    this.stats.update();
    const { own } = this.stats;
    const sums = new Map<string, { fn: number; sum: number }>();
    for (const fn of this.stats.ids) {
      const module = this.modules.of(fn);
      if (module.origin !== "library") continue;
      const sum = own.cpu[fn]! + own.blocked[fn]!;
      const known = sums.get(module.name);
      if (known === undefined) sums.set(module.name, { fn, sum });
      else known.sum += sum;
    }
    this.colours.assign([...sums.values()].sort((a, b) => b.sum - a.sum).map(({ fn }) => fn));
  }
  private statsRevision = "";

  /** "flask/app.py:902" in at most `chars` characters where that is possible without cutting the file's name. */
  placeOf(fn: number, chars: number): string {
    const file = this.modules.shortFile(fn);
    return file === "" ? "" : cutPlace(file, this.store.functions.line[fn] ?? 0, chars);
  }

  groupName(id: number): string {
    return id === 0 ? "(before the first call)" : this.store.groups.nameOf(id);
  }

  /** What a task does now, by the session's threshold. */
  describe(row: number): TaskActivity {
    return describeTask(this.store, row, this.session.peek()?.threshold);
  }

  show(view: ViewName): void {
    this.view.value = view;
  }

  setScope(group: number): void {
    if (this.scope.value === group) return;
    batch(() => {
      this.scope.value = group;
      this.zoom.value = WHOLE;
      this.zooms = [];
      const kind = this.selection.value?.kind;
      if (kind === "frame" || kind === "function") this.selection.value = null;
    });
  }

  /** The flame of a group with the frame at `path` selected. */
  openFlame(group: number, path: readonly number[] = []): void {
    batch(() => {
      this.setScope(group);
      this.zoomTo(WHOLE);
      if (path.length > 0) this.selection.value = { kind: "frame", path };
      this.view.value = "flame";
    });
  }

  /** The flame of a task's group, at the place where the task is. */
  openTaskFlame(id: number): void {
    const { tasks, nodes } = this.store;
    const row = tasks.rowOf(id);
    if (row >= 0) this.openFlame(tasks.group[row]!, nodes.path(tasks.node[row]!));
  }

  /** The flame at the widest frame of a function. */
  openFunctionFlame(fn: number): void {
    this.refreshTree();
    const { tree } = this;
    const kinds = this.kinds.value;
    let best = -1;
    for (let node = 1; node < tree.size; node++) {
      if (tree.function[node] !== fn) continue;
      if (best < 0 || tree.totalOf(node, kinds) > tree.totalOf(best, kinds)) best = node;
    }
    if (best >= 0) this.openFlame(this.scope.value, tree.path(best));
  }

  /** Slices of at least so many ns are long. */
  threshold(): number {
    return this.session.peek()?.threshold ?? DEFAULT_THRESHOLD;
  }

  /** A slice of the timeline; null when its row is no longer there. */
  sliceOf(thread: number, row: number): SelectedSlice | null {
    const slices = this.store.timeline.of(thread);
    if (slices === undefined || row < 0 || row >= slices.size) return null;
    return {
      thread,
      ...slices.sliceAt(row),
      path: this.store.nodes.path(slices.node[row]!),
      lasts: false,
    };
  }

  /** Where most of a long slice was spent, and the GIL's part in it, if it was long: its row in the store's slices, or -1. */
  longSlice({ thread, begin, end }: { thread: number; begin: number; end: number }): number {
    const { slices } = this.store;
    // The clock's rate is refined between the two readings: the same instants may differ by a little.
    const same = (a: number, b: number): boolean => Math.abs(a - b) <= 100e3;
    for (let row = slices.size - 1; row >= 0; row--) {
      if (slices.thread[row] === thread && same(slices.begin[row]!, begin) && same(slices.end[row]!, end)) {
        return row;
      }
    }
    return -1;
  }

  /** The slice that a thread has been in until now. */
  lastingSlice(thread: number): SelectedSlice | null {
    const { threads, tasks, nodes, now } = this.store;
    const row = threads.rowOf(thread);
    if (row < 0 || threads.end[row] !== 0) return null;
    const task = tasks.rowOf(threads.task[row]!);
    return {
      thread,
      task: threads.task[row]!,
      group: task < 0 ? 0 : tasks.group[task]!,
      begin: threads.slice[row]!,
      end: now,
      cpu: threads.sliceCpu[row]!,
      blocked: threads.sliceBlocked[row]!,
      path: nodes.path(threads.node[row]!),
      lasts: true,
    };
  }

  /** "report › build_rows › Cursor.execute": the last functions of a path. */
  pathEnd(path: readonly number[]): string {
    const names = path.slice(-3).map((fn) => this.store.functions.qualnameOf(fn));
    return `${path.length > 3 ? "… › " : ""}${names.join(" › ")}`;
  }

  /** Selects a slice of the timeline, and with it its task. */
  chooseSlice(slice: SelectedSlice): void {
    batch(() => {
      this.slice.value = slice;
      if (slice.task !== 0) this.selection.value = { kind: "task", id: slice.task };
    });
  }

  /** When a task had its hub, up to now. */
  openTimeline(id: number): void {
    batch(() => {
      this.selection.value = { kind: "task", id };
      this.slice.value = null;
      this.timeWindow.value = FOLLOW;
      this.view.value = "timeline";
    });
  }

  openTask(id: number): void {
    batch(() => {
      this.selection.value = { kind: "task", id };
      this.view.value = "tasks";
    });
  }

  zoomTo(zoom: Zoom): void {
    const old = this.zoom.value;
    if (old === zoom) return;
    // Wheel and drag move within one frame: they are no steps to go back over.
    if (!samePath(old.path, zoom.path)) this.zooms.push({ path: old.path, lo: 0, hi: 1 });
    if (zoom.path.length === 0) this.zooms = [];
    this.zoom.value = zoom;
  }

  /** One step out; false when the whole is in sight. */
  zoomOut(): boolean {
    const { path, lo, hi } = this.zoom.value;
    if (lo > 0 || hi < 1) this.zoom.value = { path, lo: 0, hi: 1 };
    else if (path.length === 0) return false;
    else this.zoom.value = this.zooms.pop() ?? WHOLE;
    return true;
  }

  toggleKind(kind: Kind, only = false): void {
    const old = this.kinds.value;
    const next = only
      ? { cpu: false, blocked: false, waited: false, idle: false, [kind]: true }
      : { ...old, [kind]: !old[kind] };
    // Without any kind everything would be empty.
    if (next.cpu || next.blocked || next.waited || next.idle) this.kinds.value = next as Kinds;
  }

  hide(fn: number): void {
    if (fn <= 0) return;
    batch(() => {
      this.hidden.value = new Set([...this.hidden.value, fn]);
      const { path } = this.zoom.value;
      if (path.includes(fn)) this.zoomTo(WHOLE);
      this.selection.value = null;
    });
  }

  unhide(fn: number): void {
    this.hidden.value = new Set([...this.hidden.value].filter((other) => other !== fn));
  }

  togglePin(task: number): void {
    const pins = this.pinned.value;
    this.pinned.value = pins.includes(task) ? pins.filter((id) => id !== task) : [...pins, task];
  }

  toggleUnfolded(list: "unfolded" | "listUnfolded", key: string, open?: boolean): void {
    const next = new Set(this[list].value);
    if (open ?? !next.has(key)) next.add(key);
    else next.delete(key);
    this[list].value = next;
  }

  setFrozen(frozen: boolean): void {
    if (this.connection.value.state !== "live" && frozen) return;
    // Text lags behind the strips by up to a tick: what stands still must be one picture.
    if (frozen) this.tick();
    this.frozen.value = frozen;
    this.host.setFrozen(frozen);
  }

  /** From what is seen now to the other one. */
  toggleTheme(): void {
    const seen =
      this.theme.value ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.setTheme(seen === "dark" ? "light" : "dark");
  }

  /** Selects the widest frame that the search matches; again: the next. */
  selectNextMatch(): void {
    this.refreshTree();
    if (!this.search.active) return;
    const { tree } = this;
    const kinds = this.kinds.value;
    const matches: number[] = [];
    for (let node = 1; node < tree.size; node++) {
      if (tree.totalOf(node, kinds) > 0 && this.search.matchesFunction(tree.function[node]!))
        matches.push(node);
    }
    matches.sort((a, b) => tree.totalOf(b, kinds) - tree.totalOf(a, kinds));
    const selection = this.selection.value;
    const at = selection?.kind === "frame" ? matches.indexOf(tree.findPath(selection.path)) : -1;
    const next = matches[(at + 1) % matches.length];
    if (next !== undefined) this.selection.value = { kind: "frame", path: tree.path(next) };
  }

  setTheme(theme: Theme | null): void {
    this.theme.value = theme;
    this.host.rememberTheme(theme);
  }
}

function sameScope(a: Scope, b: Scope): boolean {
  return a === b || (a !== "all" && b !== "all" && samePath(a, b));
}

export function samePath(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((fn, i) => fn === b[i]);
}
