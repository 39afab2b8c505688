/** The messages of protocol.md, version 1. Times are integers in nanoseconds, instants count from the session's start. */

export const PROTOCOL_VERSION = 1;

/** Columns of equal length: one number per row. */
export type Columns<K extends string> = Readonly<Record<K, readonly number[]>>;
/** Columns that older servers do not send: all 0 then. */
export type LaterColumns<K extends string> = Partial<Columns<K>>;

export interface Request {
  seq: number;
  type: "request";
  command: string;
  arguments?: unknown;
}

export interface Response {
  seq: number;
  type: "response";
  request_seq: number;
  success: boolean;
  command: string;
  message?: string;
  body?: unknown;
}

export interface Event {
  seq: number;
  type: "event";
  event: string;
  body?: unknown;
}

export type Message = Request | Response | Event;

export interface ErrorBody {
  error: { id: number; format: string; showUser: boolean };
  /** Only with error 1002. */
  protocol?: { min: number; max: number };
}

/** Ids of failed responses. */
export const ErrorId = {
  notARequest: 1000,
  badToken: 1001,
  noCommonVersion: 1002,
  notInitialized: 1003,
  unknownCommand: 1004,
  badArgument: 1005,
  initializedTwice: 1006,
} as const;

export interface InitializeArguments {
  adapterID: "flamelet";
  clientID?: string;
  clientName?: string;
  token: string;
  protocol: { min: number; max: number };
}

/** Who is at the other end: `body.flamelet` of the response to `initialize`. */
export interface Session {
  protocol: number;
  version: string;
  pid: number;
  program: string;
  python: string;
  /** Unix time of the session's start, in ms. */
  epoch: number;
  /** Slices longer than this are long, in ns. */
  threshold: number;
}

export type Section = "threads" | "tasks" | "tree" | "slices" | "timeline";
export type TreeScope = { of: "all" } | { of: "group"; group: number };

export interface SubscribeArguments {
  /** Default: all but the timeline, which is bulky. */
  what?: Section[];
  tree?: TreeScope;
  /** Updates per second at most, 0.1 to 20. */
  rate?: number;
}

/** A process of the user that a flamelet server serves now. */
export interface ServedProcess {
  pid: number;
  /** Process id of the process that started it. */
  parent: number;
  /** What runs: a script's path, or "-m module". */
  script: string;
  /** Version: "3.12.1". */
  python: string;
  /** Unix time in seconds. */
  started: number;
  /** Address of its page, with its token. Other processes say it: look at it before it is followed. */
  url: string;
  /** It is the one that answers. */
  self: boolean;
}

/** Body of the response to `flamelet/processes`: by `started`, then by `pid`. */
export interface Processes {
  processes: readonly ServedProcess[];
}

export type ProcessState = "running" | "stopped" | "ended";

export interface Lost {
  events: number;
  tasks: number;
  unmatched: number;
  displaced: number;
  slices: number;
  strings: number;
  threads: number;
  /** Older servers do not say. */
  timeline?: number;
}

export interface Status {
  state: ProcessState;
  clock: string;
  /** What one reading of the clocks costs, in ns. */
  reading: number;
  /** What flamelet adds to a call and to a switch, in ns; 0 or absent: not known. */
  cost?: { call: number; switch: number };
  switches: boolean;
  nodes: number;
  tasks: number;
  lost: Lost;
}

export const FunctionKind = { python: 0, c: 1, made: 2 } as const;
export const ThreadState = { lives: 1, ended: 2 } as const;
export const TaskState = { current: 0, parked: 1, ended: 2 } as const;

export type FunctionColumns = Columns<"name" | "qualname" | "file" | "line" | "kind">;
export type GroupAdd = Columns<"id" | "entry" | "label">;
export type GroupUpd = Columns<
  "id" | "started" | "ended" | "switches" | "cpu" | "blocked" | "idle" | "waited" | "longest"
>;
export type ThreadAdd = Columns<"id" | "tid" | "begin">;
export type ThreadUpd = Columns<
  | "id"
  | "name"
  | "state"
  | "hub"
  | "task"
  | "node"
  | "since"
  | "slice"
  | "slice_cpu"
  | "slice_blocked"
  | "slice_idle"
  | "cpu"
  | "blocked"
  | "idle"
  | "end"
> &
  LaterColumns<"slice_node" | "cost" | "gil_wait" | "gil_holder">;
export type TaskAdd = Columns<"id" | "thread" | "begin" | "hub">;
export type TaskUpd = Columns<
  | "id"
  | "name"
  | "group"
  | "state"
  | "node"
  | "wait"
  | "since"
  | "switches"
  | "cpu"
  | "blocked"
  | "idle"
  | "waited"
  | "longest"
>;
export type NodeAdd = Columns<"id" | "parent" | "function" | "group" | "thread">;
export type NodeUpd = Columns<"id" | "calls" | "cpu" | "blocked" | "idle" | "waited"> &
  LaterColumns<"seeded">;
export type SliceAdd = Columns<
  "id" | "thread" | "task" | "group" | "node" | "begin" | "end" | "cpu" | "blocked" | "idle"
> &
  LaterColumns<"gil" | "gil_holder" | "gil_node">;
export type HoldAdd = Columns<"id" | "thread" | "function">;
export type HoldUpd = Columns<"id" | "count" | "cpu" | "blocked" | "longest">;
export type GilAdd = Columns<"id" | "thread" | "task" | "holder">;
export type GilUpd = Columns<"id" | "node" | "holder_node" | "looks" | "waited">;
export type TimelineAdd = Columns<
  "thread" | "task" | "group" | "node" | "begin" | "end" | "blocked" | "idle"
>;

export interface ThreadHistory {
  id: number;
  /** Instant at which the last period ends. */
  end: number;
  cpu: readonly number[];
  blocked: readonly number[];
  idle: readonly number[];
}

/** The body of `flamelet/update`. */
export interface Update {
  subscription: number;
  version: number;
  since: number;
  now: number;
  status: Status;
  strings?: { first: number; add: readonly string[] };
  functions?: { first: number; add: FunctionColumns };
  groups?: { add?: GroupAdd; upd?: GroupUpd };
  threads?: { add?: ThreadAdd; upd?: ThreadUpd; del?: readonly number[] };
  tasks?: { add?: TaskAdd; upd?: TaskUpd; del?: readonly number[] };
  nodes?: { add?: NodeAdd; upd?: NodeUpd };
  slices?: { add: SliceAdd };
  holds?: { add?: HoldAdd; upd?: HoldUpd };
  gil?: { add?: GilAdd; upd?: GilUpd };
  /** Rows count up from `first`; numbers that are left out are lost. */
  timeline?: { first: number; add: TimelineAdd };
  history?: { period: number; threads: readonly ThreadHistory[] };
}
