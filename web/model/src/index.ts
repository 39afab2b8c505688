// Signatures first; the implementations move into files of their own behind the same names.
import type { Session, Status, TreeScope, Update } from "@flamelet/protocol";

/** The four parts of a task's lifetime, in ns. */
export interface Times {
  cpu: number;
  blocked: number;
  idle: number;
  waited: number;
}
export type Kind = keyof Times;
/** Which kinds are counted: set widths, bars and shares. */
export type Kinds = Readonly<Record<Kind, boolean>>;
export declare const DEFAULT_KINDS: Kinds; // cpu and blocked

// ---------------------------------------------------------------- store
// Every table is a struct of arrays. Arrays may be replaced when a table grows: read them through the table each
// time, never keep one across apply(). Ids index functions, groups, nodes directly; tasks, threads, slices have rows.

export declare class StringTable {
  readonly size: number;
  /** "" for id 0 and for unknown ids. */
  get(id: number): string;
}

export declare class FunctionTable {
  /** Ids are 1 to size - 1; 0 is "no function", the root of trees. */
  readonly size: number;
  readonly name: Int32Array;
  readonly qualname: Int32Array;
  readonly file: Int32Array;
  readonly line: Int32Array;
  readonly kind: Uint8Array;
  nameOf(id: number): string;
  /** Qualified name; "" for 0. */
  qualnameOf(id: number): string;
  fileOf(id: number): string;
  /** "shop/report.py:22"; file alone where there is no line; "" for 0. Folders are not cut. */
  placeOf(id: number): string;
}

export declare class GroupTable {
  /** Ids are 1 to size - 1; group 0 holds the tasks that have not yet entered a function. */
  readonly size: number;
  has(id: number): boolean;
  readonly entry: Int32Array;
  readonly label: Int32Array;
  readonly started: Float64Array;
  readonly ended: Float64Array;
  readonly switches: Float64Array;
  readonly cpu: Float64Array;
  readonly blocked: Float64Array;
  readonly idle: Float64Array;
  readonly waited: Float64Array;
  /** What parked tasks of the group have waited up to now, beside `waited`. */
  readonly open: Float64Array;
  readonly longest: Float64Array;
  /** "WSGIHandler.handle", with a label "WSGIHandler.handle [GET /]"; group 0: "(no function yet)". */
  nameOf(id: number): string;
  times(id: number): Times;
}

export declare class ThreadTable {
  /** Rows are 0 to size - 1, in the order of appearance, and never move. */
  readonly size: number;
  rowOf(id: number): number; // -1: unknown
  readonly id: Int32Array;
  readonly tid: Float64Array;
  readonly begin: Float64Array;
  readonly name: Int32Array;
  readonly state: Uint8Array; // ThreadState
  readonly hub: Int32Array;
  readonly task: Int32Array;
  readonly node: Int32Array;
  readonly since: Float64Array;
  readonly slice: Float64Array;
  readonly sliceCpu: Float64Array;
  readonly sliceBlocked: Float64Array;
  readonly sliceIdle: Float64Array;
  readonly cpu: Float64Array;
  readonly blocked: Float64Array;
  readonly idle: Float64Array;
  readonly end: Float64Array;
  nameOf(row: number): string;
  /** "hub 1", "hub 2", in the order in which threads got a hub; "" without a hub. */
  hubName(row: number): string;
}

export declare class TaskTable {
  /** Rows are 0 to size - 1. A deleted task's row is taken by the last one: keep ids, not rows. */
  readonly size: number;
  rowOf(id: number): number; // -1: unknown
  readonly id: Int32Array;
  readonly thread: Int32Array;
  readonly begin: Float64Array;
  readonly hub: Uint8Array;
  readonly name: Int32Array;
  readonly group: Int32Array;
  readonly state: Uint8Array; // TaskState
  readonly node: Int32Array;
  readonly wait: Int32Array;
  readonly since: Float64Array;
  readonly switches: Float64Array;
  readonly cpu: Float64Array;
  readonly blocked: Float64Array;
  readonly idle: Float64Array;
  readonly waited: Float64Array;
  /** What a parked task has waited since `since`, up to now, beside `waited`. 0 in other states. */
  readonly open: Float64Array;
  readonly longest: Float64Array;
  /** Its own name, else its entry function's, else "task". Without the id. */
  nameOf(row: number): string;
  /** Up to now: their sum is `lifetime`. */
  times(row: number): Times;
  lifetime(row: number): number;
}

export declare class NodeTable {
  /** Ids are 1 to size - 1; with a tree of one group not every id is known. */
  readonly size: number;
  has(id: number): boolean;
  readonly parent: Int32Array;
  readonly function: Int32Array;
  readonly group: Int32Array;
  readonly thread: Int32Array;
  readonly calls: Float64Array;
  readonly cpu: Float64Array; // own times
  readonly blocked: Float64Array;
  readonly idle: Float64Array;
  readonly waited: Float64Array;
  readonly open: Float64Array; // as in tasks, of those parked here
  /** Function ids from the entry function (first) to this node's (last). Empty for a root and for an unknown id. */
  path(id: number): number[];
}

export declare class SliceTable {
  /** Rows are 0 to size - 1, oldest first. At most 4,096 are kept. */
  readonly size: number;
  rowOf(id: number): number;
  readonly id: Int32Array;
  readonly thread: Int32Array;
  readonly task: Int32Array;
  readonly group: Int32Array;
  readonly node: Int32Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly cpu: Float64Array;
  readonly blocked: Float64Array;
  readonly idle: Float64Array;
}

/** The last two minutes of one thread, one value per period, oldest first. */
export interface HistoryRing {
  /** ns */
  readonly period: number;
  /** Instant at which the newest period ends; it may lie after `now` (that period is not full yet). */
  readonly end: number;
  readonly length: number;
  /** k from 0 (oldest) to length - 1. The period is [end - (length - k) * period, + period). */
  cpu(k: number): number;
  blocked(k: number): number;
  idle(k: number): number;
}

/** What an update changed, so that a view paints only what it must. */
export interface Changes {
  /** Everything known before is forgotten: ids start anew. */
  reset: boolean;
  names: boolean; // strings, functions
  groups: boolean;
  threads: boolean;
  tasks: boolean;
  /** Nodes or their times, or times of waiting that goes on. */
  tree: boolean;
  slices: boolean;
  history: boolean;
}

/** The update builds on a version that this store does not have: subscribe again. Nothing was changed. */
export declare class MissedUpdate extends Error {}
/** The update contradicts what is known (an id that was never added, a parent after its child). */
export declare class BadUpdate extends Error {}

export declare class Store {
  constructor();
  /** 0: empty. */
  readonly version: number;
  readonly now: number;
  /** null before the first update. */
  readonly status: Status | null;
  readonly strings: StringTable;
  readonly functions: FunctionTable;
  readonly groups: GroupTable;
  readonly threads: ThreadTable;
  readonly tasks: TaskTable;
  readonly nodes: NodeTable;
  readonly slices: SliceTable;
  /** undefined for an unknown thread. */
  history(thread: number): HistoryRing | undefined;
  apply(update: Update): Changes;
  /** Counts up when everything is forgotten. */
  readonly generation: number;
}

// ---------------------------------------------------------------- tree

/** "all", or the ids of groups. */
export type Scope = "all" | readonly number[];

/**
 * The call tree of a scope: nodes with the same function path, of whatever thread and group, are one.
 * Node 0 is the root (function 0). A child's index is larger than its parent's. An index stays valid until the scope
 * changes or the store is reset; `key` and `find` carry a node over both.
 */
export declare class Tree {
  constructor(store: Store);
  readonly store: Store;
  readonly scope: Scope;
  setScope(scope: Scope): void;
  /** Functions whose frames, with all below them, count nothing. Indices stay valid. */
  readonly hidden: ReadonlySet<number>;
  setHidden(functions: Iterable<number>): void;
  /** Reads the store again; call it after apply(), and after setScope or setHidden. Returns false when nothing changed. */
  update(): boolean;
  readonly size: number;
  readonly parent: Int32Array; // -1 for node 0
  readonly function: Int32Array;
  readonly depth: Int32Array;
  /** Function id that hides this node (its own or an ancestor's), 0: shown. */
  readonly hiddenBy: Int32Array;
  readonly calls: Float64Array;
  readonly own: Readonly<Record<Kind, Float64Array>>;
  readonly total: Readonly<Record<Kind, Float64Array>>;
  /** Time that hidden frames would have added to the root; of one function or of all. */
  hiddenTimes(fn?: number): Times;
  ownTimes(node: number): Times;
  totalTimes(node: number): Times;
  /** Sum of the counted kinds. */
  ownOf(node: number, kinds: Kinds): number;
  totalOf(node: number, kinds: Kinds): number;
  /** Children, by name. */
  children(node: number): Int32Array;
  /** Function ids from the entry function to this node. */
  path(node: number): number[];
  /** A text made of names, the same in another session of the same program. */
  key(node: number): string;
  /** -1: not there (yet). */
  find(key: string): number;
  /** -1: not there (yet). */
  findPath(functions: readonly number[]): number;
  /** Tree node of a node of the store, -1 where it is not in the scope. */
  nodeOf(storeNode: number): number;
  /** Changes whenever update() changed something. */
  readonly revision: number;
}

/** Sums per function over a tree: own times, and totals that count each moment once under recursion. */
export declare class FunctionStats {
  constructor(tree: Tree);
  /** Reads the tree again. */
  update(): void;
  /** Functions that occur in the tree and are not hidden, in order of id. */
  readonly ids: Int32Array;
  // Indexed by function id.
  readonly calls: Float64Array;
  readonly own: Readonly<Record<Kind, Float64Array>>;
  readonly total: Readonly<Record<Kind, Float64Array>>;
}

export interface Relation {
  /** 0: called by nobody that was seen (entry function). */
  function: number;
  calls: number;
  /** Each moment once: with recursion rows may overlap. */
  total: Times;
}
/** Who calls a function, and whom it calls, in the tree's scope, hidden frames left out; largest cpu + blocked first. */
export declare function callersOf(tree: Tree, fn: number, kinds?: Kinds): Relation[];
export declare function calleesOf(tree: Tree, fn: number, kinds?: Kinds): Relation[];

// ---------------------------------------------------------------- layout

export type Order = "name" | "width";

export interface IcicleOptions {
  kinds: Kinds;
  order: Order;
  /** Part of the root's width that is laid out; default 0 to 1. Use span() of the zoomed node, or what a pan shows. */
  from?: number;
  to?: number;
  /** Boxes narrower than this share of the root's width are left out (with their subtree). Default 0: only empty ones. */
  minWidth?: number;
}

/**
 * Boxes of the flame view, row by row. x and w are shares of the root's counted total, so a zoom is a window [from, to]
 * and an animation moves only that window. Rows are depths; in a row boxes are sorted by x and do not overlap.
 */
export declare class Icicle {
  constructor(tree: Tree);
  layout(options: IcicleOptions): void;
  /** Counted total of the root, in ns. */
  readonly total: number;
  readonly rows: number;
  readonly size: number;
  /** Boxes of row r are rowStart[r] to rowStart[r + 1] - 1. */
  readonly rowStart: Int32Array;
  readonly node: Int32Array;
  readonly x: Float64Array;
  readonly w: Float64Array;
  readonly depth: Int32Array;
  /** First and last + 1 box of a row that touch [x0, x1]: binary search. */
  visible(row: number, x0: number, x1: number): [number, number];
  /** Box at a place, -1: none. */
  hit(row: number, x: number): number;
  /** Where a node lies, also when it was left out for its width; with the options of the last layout(). */
  span(node: number): { x: number; w: number };
  /** Box of a node, -1: not laid out. */
  boxOf(node: number): number;
}

export declare class Search {
  constructor(tree: Tree);
  /** "": nothing is searched. Text matches in the qualified name or the file, any case; /regex/ is one. */
  set(query: string): void;
  readonly query: string;
  readonly active: boolean;
  /** Message of a regular expression that is none, "" otherwise; it then matches nothing. */
  readonly error: string;
  matchesFunction(fn: number): boolean;
  /** Frames that match and are not hidden, and their share of the root's counted total (each moment once). */
  result(kinds: Kinds): { frames: number; total: number; share: number };
}

// ---------------------------------------------------------------- what a task does

export type Activity = "running" | "blocking" | "polling" | "waiting" | "ended";

export interface TaskActivity {
  activity: Activity;
  /** Time in that state, ns: the slice's age while it is current, the waiting time while it is parked. */
  for: number;
  /** "Queue.get"; "" where that is not known. */
  place: string;
  /** Who called the place: "WSGIHandler.read_requestline"; "" where that is not known. */
  caller: string;
  /** Waits for work to come: next request, empty queue, accept, its own sleep. Not for work of others. */
  idle: boolean;
  /** "blocking its hub for 1.20 s", "waiting 3.40 s at Queue.get" */
  text: string;
}
/** `threshold`: a current task blocks its hub when its slice is older than this; default that of the session, 100 ms. */
export declare function describeTask(store: Store, row: number, threshold?: number): TaskActivity;

/** Functions in which a task waits for work to come, to be hidden by default. */
export declare function idleFunctions(store: Store): number[];
export declare function isIdlePlace(qualname: string, file: string): boolean;

export interface WaitSummary {
  place: string;
  idle: boolean;
  tasks: number;
  longest: number;
  /** Task id of the longest. */
  task: number;
}
/** Parked tasks by what they wait for; idle places last, each part by number of tasks. */
export declare function waitSummary(store: Store): WaitSummary[];

// ---------------------------------------------------------------- modules

export type Origin = "own" | "library" | "gevent" | "stdlib" | "builtin";
export interface Module {
  /** "shop", "flask", "gevent", "stdlib". */
  name: string;
  origin: Origin;
}
/** To which module a function's file belongs. Cached by the store's string id of the file. */
export declare class Modules {
  constructor(store: Store);
  of(fn: number): Module;
  /** Path as one wants to read it: "flask/app.py", "shop/report.py", without site-packages and the like. */
  shortFile(fn: number): string;
}

// ---------------------------------------------------------------- who holds a hub

export interface Holder {
  /** Thread id, and row of the thread's hub name. */
  thread: number;
  group: number;
  /** Function ids from the entry function to where most of the time went. */
  path: number[];
  /** A node of the store at that path (the latest). */
  node: number;
  /** First function of the program's own code on the path (else the entry function): "report". */
  actor: number;
  /** Last function of the path. */
  place: number;
  count: number;
  /** ns, of the slices in the window, the one that still lasts included. */
  held: number;
  cpu: number;
  blocked: number;
  longest: number;
  mean: number;
  meanCpu: number;
  meanBlocked: number;
  /** held / window of its hub, 0 to 1. */
  share: number;
  /** Age of the slice that lasts now, ns; 0: none. */
  lasting: number;
  /** Task that holds now, or held last. */
  task: number;
  /** Ids of its long slices in the window, oldest first. */
  slices: number[];
}

export interface HubReport {
  /** What held hubs for longer than the threshold in the window, most time first. */
  holders: Holder[];
  /** The one the sentence is about: at least 1% of its hub and 3 times, or one that lasts for more than 1 s. */
  culprit: Holder | null;
  /** Plain text: "report holds hub 1 for 180 ms each time, 16.2 % of its time: 142 ms blocked in sqlite3.Cursor.execute" */
  sentence: string;
  /** The same in parts, for links and weights. */
  parts: SentencePart[];
  /** ns looked at, at most two minutes. */
  window: number;
}
export interface SentencePart {
  text: string;
  role: "actor" | "hub" | "share" | "place" | "file" | "plain";
}
export declare function hubReport(store: Store, options?: { threshold?: number; window?: number; modules?: Modules }): HubReport;

// ---------------------------------------------------------------- numbers

export interface Quantity {
  /** "180", "1,412", "·", "<0.1" */
  number: string;
  /** "ms", "%", "" */
  unit: string;
  /** Joined by U+202F. */
  text: string;
}
/** Three significant digits: 53.1 ns, 941 µs, 180 ms, 12.7 s, 97.2 h. "·" is zero. */
export declare function formatTime(ns: number): Quantity;
/** As formatTime, with "6 min 12 s" from 90 s on: for prose. */
export declare function formatDuration(ns: number): string;
/** One decimal; "<0.1 %" is not zero; 0 to 1 in. */
export declare function formatPercent(share: number): Quantity;
/** Thousands commas; "·" is zero. */
export declare function formatCount(count: number): string;
/** HH:MM:SS of an instant, local time. */
export declare function formatClock(epochMs: number, instantNs: number): string;
export declare const NARROW_SPACE: string; // U+202F
export declare const MINUS: string; // U+2212

// ---------------------------------------------------------------- recordings

export interface Recording {
  session: Session | null;
  store: Store;
  updates: number;
  /** `terminated` was in it. */
  complete: boolean;
  /** The last line was cut off. */
  truncated: boolean;
}
/** Reads the lines of a recording. Throws BadRecording with the line's number for anything but a cut tail. */
export declare function readRecording(lines: Iterable<string>): Recording;
export declare class BadRecording extends Error {}

export type { Session, Status, TreeScope, Update };
