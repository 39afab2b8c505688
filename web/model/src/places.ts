/** Where tasks wait: the place as a reader would name it, and whether waiting there means having nothing to do. */
import { describeFile } from "./modules.ts";
import type { Store } from "./store.ts";

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

/** Where the task in a row is, or is parked. */
export function placeOf(store: Store, row: number): Place {
  const { functions, tasks, nodes } = store;
  const wait = store.strings.get(tasks.wait[row] ?? 0);
  let node = tasks.node[row] ?? 0;
  let place = 0;
  // Up through everything that only carries the wait out; its outermost function is the place.
  while (
    nodes.has(node) &&
    nodes.function[node] !== 0 &&
    carriesWaits(functions.fileOf(nodes.function[node]!))
  ) {
    place = nodes.function[node]!;
    node = nodes.parent[node]!;
  }
  const here = nodes.has(node) ? nodes.function[node]! : 0;
  let found: Omit<Place, "idle">;
  if (place !== 0) found = { place: functions.qualnameOf(place), caller: functions.qualnameOf(here) };
  else if (wait !== "") found = { place: wait, caller: functions.qualnameOf(here) };
  else {
    const above = nodes.has(node) ? nodes.parent[node]! : 0;
    found = { place: functions.qualnameOf(here), caller: functions.qualnameOf(nodes.function[above] ?? 0) };
  }
  return { ...found, idle: isIdlePlace(found.place) || isIdlePlace(found.caller) || isIdlePlace(wait) };
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
