import {
  ANY,
  array,
  boolean,
  columns,
  ID,
  integer,
  integers,
  object,
  oneOf,
  string,
  strings,
} from "./check.ts";
import type { Lost, Status, Update } from "./messages.ts";

const FUNCTIONS = { name: ID, qualname: ID, file: ID, line: ID, kind: 2 };
const GROUP_ADD = { id: ID, entry: ID, label: ID };
const GROUP_UPD = {
  id: ID,
  started: ANY,
  ended: ANY,
  switches: ANY,
  cpu: ANY,
  blocked: ANY,
  idle: ANY,
  waited: ANY,
  longest: ANY,
};
const THREAD_ADD = { id: ID, tid: ANY, begin: ANY };
const THREAD_UPD = {
  id: ID,
  name: ID,
  state: 2,
  hub: ID,
  task: ID,
  node: ID,
  since: ANY,
  slice: ANY,
  slice_cpu: ANY,
  slice_blocked: ANY,
  slice_idle: ANY,
  cpu: ANY,
  blocked: ANY,
  idle: ANY,
  end: ANY,
  slice_node: ID,
  cost: ANY,
  gil_wait: 1,
  gil_holder: ID,
};
const TASK_ADD = { id: ID, thread: ID, begin: ANY, hub: 1 };
const TASK_UPD = {
  id: ID,
  name: ID,
  group: ID,
  state: 2,
  node: ID,
  wait: ID,
  since: ANY,
  switches: ANY,
  cpu: ANY,
  blocked: ANY,
  idle: ANY,
  waited: ANY,
  longest: ANY,
};
const NODE_ADD = { id: ID, parent: ID, function: ID, group: ID, thread: ID };
const NODE_UPD = { id: ID, calls: ANY, cpu: ANY, blocked: ANY, idle: ANY, waited: ANY, seeded: ANY };
const SLICE_ADD = {
  id: ID,
  thread: ID,
  task: ID,
  group: ID,
  node: ID,
  begin: ANY,
  end: ANY,
  cpu: ANY,
  blocked: ANY,
  idle: ANY,
  gil: ANY,
  gil_holder: ID,
  gil_node: ID,
};
const HOLD_ADD = { id: ID, thread: ID, function: ID };
const HOLD_UPD = { id: ID, count: ANY, cpu: ANY, blocked: ANY, longest: ANY };
const GIL_ADD = { id: ID, thread: ID, task: ID, holder: ID };
const GIL_UPD = { id: ID, node: ID, holder_node: ID, looks: ANY, waited: ANY };
const TIMELINE = {
  ...{ thread: ID, task: ID, group: ID, node: ID },
  ...{ begin: ANY, end: ANY, blocked: ANY, idle: ANY },
};
/** Columns that servers did not always send. */
const LATER = ["slice_node", "cost", "gil_wait", "gil_holder", "seeded", "gil", "gil_node"];

function checkStatus(value: unknown, path: string): Status {
  const status = object(value, path);
  oneOf(status.state, `${path}.state`, ["running", "stopped", "ended"]);
  string(status.clock, `${path}.clock`);
  integer(status.reading, `${path}.reading`);
  if (status.cost !== undefined) {
    const cost = object(status.cost, `${path}.cost`);
    integer(cost.call, `${path}.cost.call`);
    integer(cost.switch, `${path}.cost.switch`);
  }
  boolean(status.switches, `${path}.switches`);
  integer(status.nodes, `${path}.nodes`);
  integer(status.tasks, `${path}.tasks`);
  const lost = object(status.lost, `${path}.lost`);
  const counts: readonly (keyof Lost)[] = [
    "events",
    "tasks",
    "unmatched",
    "displaced",
    "slices",
    "strings",
    "threads",
  ];
  for (const name of counts) integer(lost[name], `${path}.lost.${name}`);
  if (lost.timeline !== undefined) integer(lost.timeline, `${path}.lost.timeline`);
  return status as unknown as Status;
}

/** `add`, `upd` and `del` of a section, each optional. */
function checkTable<A extends string, U extends string>(
  value: unknown,
  path: string,
  add: Readonly<Record<A, number>>,
  upd: Readonly<Record<U, number>>,
): void {
  const section = object(value, path);
  if (section.add !== undefined) columns(section.add, `${path}.add`, add, LATER);
  if (section.upd !== undefined) columns(section.upd, `${path}.upd`, upd, LATER);
  if (section.del !== undefined) integers(section.del, `${path}.del`, ID);
}

/** Checks the body of `flamelet/update`; `path` stands before the paths in messages. */
export function checkUpdate(value: unknown, path = "body"): Update {
  const body = object(value, path);
  integer(body.subscription, `${path}.subscription`);
  integer(body.version, `${path}.version`, 1);
  integer(body.since, `${path}.since`);
  integer(body.now, `${path}.now`);
  checkStatus(body.status, `${path}.status`);

  if (body.strings !== undefined) {
    const section = object(body.strings, `${path}.strings`);
    integer(section.first, `${path}.strings.first`, 1, ID);
    strings(section.add, `${path}.strings.add`);
  }
  if (body.functions !== undefined) {
    const section = object(body.functions, `${path}.functions`);
    integer(section.first, `${path}.functions.first`, 1, ID);
    columns(section.add, `${path}.functions.add`, FUNCTIONS);
  }
  if (body.groups !== undefined) checkTable(body.groups, `${path}.groups`, GROUP_ADD, GROUP_UPD);
  if (body.threads !== undefined) checkTable(body.threads, `${path}.threads`, THREAD_ADD, THREAD_UPD);
  if (body.tasks !== undefined) checkTable(body.tasks, `${path}.tasks`, TASK_ADD, TASK_UPD);
  if (body.nodes !== undefined) checkTable(body.nodes, `${path}.nodes`, NODE_ADD, NODE_UPD);
  if (body.slices !== undefined) {
    columns(object(body.slices, `${path}.slices`).add, `${path}.slices.add`, SLICE_ADD, LATER);
  }
  if (body.holds !== undefined) checkTable(body.holds, `${path}.holds`, HOLD_ADD, HOLD_UPD);
  if (body.gil !== undefined) checkTable(body.gil, `${path}.gil`, GIL_ADD, GIL_UPD);
  if (body.timeline !== undefined) {
    const section = object(body.timeline, `${path}.timeline`);
    integer(section.first, `${path}.timeline.first`);
    columns(section.add, `${path}.timeline.add`, TIMELINE);
  }
  if (body.history !== undefined) {
    const section = object(body.history, `${path}.history`);
    integer(section.period, `${path}.history.period`, 1);
    array(section.threads, `${path}.history.threads`).forEach((item, i) => {
      const at = `${path}.history.threads[${i}]`;
      const thread = object(item, at);
      integer(thread.id, `${at}.id`, 1, ID);
      integer(thread.end, `${at}.end`);
      columns(thread, at, { cpu: ANY, blocked: ANY, idle: ANY });
    });
  }
  return body as unknown as Update;
}
