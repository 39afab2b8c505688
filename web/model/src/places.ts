/** Where tasks wait: the place as a reader would name it, and whether waiting there means having nothing to do. */
import { describeFile } from "./modules.ts";
import type { Store } from "./store.ts";
import type { FunctionTable } from "./tables/functions.ts";
import type { StringTable } from "./tables/strings.ts";

/**
 * Files whose functions only carry a wait out: a task parked below `Queue.get` waits at `Queue.get`, whatever that calls.
 * Servers, pools and handlers of the same libraries are left out on purpose: they are what calls the wait.
 */
const CARRIERS: Readonly<Record<string, RegExp>> = {
  gevent:
    /^gevent\/(hub|_hub_local|_hub_primitives|_?waiter|event|queue|_queue|lock|_semaphore|_abstract_linkable|_gevent_.*|timeout|select|selectors|socket|_socket3|_socketcommon|ssl|_ssl3|thread|threading|threadpool|time|os|subprocess|greenlet)\.py$/,
  eventlet:
    /^eventlet\/(hubs\/.*|queue|event|semaphore|timeout|greenthread|greenio\/.*|green\/(socket|ssl|select|time|threading|thread|_socket_nodns))\.py$/,
  greenlet: /./,
  stdlib: /^(socket|ssl|select|selectors|queue|threading|time|asyncio\/.*)(\.py)?$/,
};

/** Is the file part of what only carries a wait out? */
export function carriesWaits(file: string): boolean {
  const { name, short } = describeFile(file);
  return CARRIERS[name]?.test(short) ?? false;
}

const IDLE = [
  // A keep-alive connection between two requests.
  /(^|\.)(read_requestline|parse_request|handle_one_request)$/,
  // A worker without work.
  /(^|\.)\w*queue\w*\.get(_nowait)?$/i,
  /(^|\.)(channel|mailbox|inbox)\.(get|receive)$/i,
  // A listener without callers.
  /(^|\.)(_?do_)?_?accept$/,
  /(^|\.)(serve_forever|_serve_forever)$/,
  // It waits because it said so.
  /(^|\.)sleep$/,
];

/** Does a task that waits there wait for work to come (request line, empty queue, accept), or sleep by its own will? */
export function isIdlePlace(qualname: string): boolean {
  return IDLE.some((pattern) => pattern.test(qualname));
}

export interface Place {
  /** "Queue.get"; "" where nothing is known. */
  place: string;
  /** Qualified name of the function that called it, "" where that is not known. */
  caller: string;
  idle: boolean;
}

/** What was found out about functions and names of waits; thousands of tasks are asked about at each update. */
class Facts {
  /** By function id. */
  private readonly carries = new Map<number, boolean>();
  private readonly idle = new Map<number, boolean>();
  /** By string id. */
  private readonly idleWaits = new Map<number, boolean>();

  constructor(
    private readonly functions: FunctionTable,
    private readonly strings: StringTable,
  ) {}

  carriesWaits(fn: number): boolean {
    return remembered(this.carries, fn, () => carriesWaits(this.functions.fileOf(fn)));
  }

  isIdle(fn: number): boolean {
    return remembered(this.idle, fn, () => isIdlePlace(this.functions.qualnameOf(fn)));
  }

  isIdleWait(wait: number): boolean {
    return remembered(this.idleWaits, wait, () => isIdlePlace(this.strings.get(wait)));
  }
}

function remembered(answers: Map<number, boolean>, id: number, find: () => boolean): boolean {
  let answer = answers.get(id);
  if (answer === undefined) {
    answer = find();
    answers.set(id, answer);
  }
  return answer;
}

/** A store that forgets makes new tables, and the answers go with the old ones. */
const factsOf = new WeakMap<FunctionTable, Facts>();

function facts(store: Store): Facts {
  let found = factsOf.get(store.functions);
  if (found === undefined) {
    found = new Facts(store.functions, store.strings);
    factsOf.set(store.functions, found);
  }
  return found;
}

/** Where the task in a row is, or is parked. */
export function placeOf(store: Store, row: number): Place {
  const { functions, tasks, nodes } = store;
  const known = facts(store);
  const wait = tasks.wait[row] ?? 0;
  let node = nodes.has(tasks.node[row] ?? 0) ? tasks.node[row]! : 0;
  let place = 0;
  // Up through everything that only carries the wait out; its outermost function is the place.
  while (node !== 0 && nodes.function[node] !== 0 && known.carriesWaits(nodes.function[node]!)) {
    place = nodes.function[node]!;
    node = nodes.parent[node]!;
  }
  let caller = nodes.function[node] ?? 0;
  if (place === 0 && wait === 0) {
    place = caller;
    caller = nodes.function[nodes.parent[node] ?? 0] ?? 0;
  }
  return {
    place: place !== 0 ? functions.qualnameOf(place) : store.strings.get(wait),
    caller: functions.qualnameOf(caller),
    idle: known.isIdle(place) || known.isIdle(caller) || known.isIdleWait(wait),
  };
}

/** Functions in which tasks wait for work to come: what a view hides by default. Servers' loops are not among them. */
export function idleFunctions(store: Store): number[] {
  const { functions } = store;
  const ids: number[] = [];
  for (let id = 1; id < functions.size; id++) {
    const name = functions.nameOf(id);
    if (/^(handle_one_request|_?serve_forever)$/.test(name)) continue; // work is below them as well
    if (isIdlePlace(functions.qualnameOf(id)) && describeFile(functions.fileOf(id)).origin !== "own")
      ids.push(id);
  }
  return ids;
}
