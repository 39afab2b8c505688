import { formatCount } from "@flamelet/model";
import type { JSX } from "preact";
import { useHeldPointer } from "../parts/held-pointer.ts";
import { Bar, PinIcon, SearchIcon } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { Counts, StateText, TaskName } from "../parts/task-text.tsx";
import { Twisty } from "../parts/twisty.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../state/context.ts";
import { EVERYTHING, ON_HUBS } from "../state/page.ts";
import { nameOfScope } from "../state/selectors.ts";
import { useTaskList } from "../state/task-list.ts";
import { countedTime, type GroupRow, type Row } from "../state/task-rows.ts";

const ORDERS: readonly { key: string; title: string }[] = [
  { key: "hub", title: "Hub time" },
  { key: "blocked", title: "Blocked" },
  { key: "waited", title: "Waited" },
  { key: "longest", title: "Longest slice" },
  { key: "state", title: "State now" },
  { key: "name", title: "Name" },
];

interface AllRow {
  type: "all";
  key: string;
  scope: number;
}

type ScopeRow = Row | AllRow;

const ALL_ROWS: readonly [AllRow, AllRow] = [
  { type: "all", key: "hubs", scope: ON_HUBS },
  { type: "all", key: "all", scope: EVERYTHING },
];

/** Groups and tasks at the left of the flame: a click on a group shows its flame, a click on a task also where it is. */
export function ScopeList(): JSX.Element {
  const page = usePage();
  const held = useHeldPointer();
  const list = useTaskList(page, held.held, "listUnfolded", "entry");
  const { store } = page;
  const scope = page.scope.value;
  const apart = page.groupHubs.apart() !== null;
  const rows: ScopeRow[] = [ALL_ROWS[0], ...(apart ? [ALL_ROWS[1]] : []), ...list.rows];
  const selection = page.selection.value;
  const selectedKey =
    selection?.kind === "task"
      ? list.selectedKey
      : scope >= 0
        ? `g${scope}`
        : scope === ON_HUBS
          ? "hubs"
          : "all";
  const column: Column<ScopeRow> = {
    key: "row",
    title: "",
    width: 200,
    grow: true,
    cell: (row) => {
      if (row.type === "all") return <AllLine scope={row.scope} />;
      if (row.type === "group") return <GroupLine row={row} full={list.fullGroup} />;
      return (
        <TaskLine
          id={row.id}
          full={list.fullTask}
          pinned={row.pinned}
          level={row.level}
          offHub={row.offHub}
        />
      );
    },
  };
  const choose = (row: ScopeRow): void => {
    if (row.type === "task") {
      const at = store.tasks.rowOf(row.id);
      if (at >= 0) page.setScope(store.tasks.group[at]!);
      list.select(row);
      return;
    }
    page.selection.value = null;
    page.setScope(row.type === "all" ? row.scope : row.group);
  };
  return (
    <div class="scopes">
      <div class="scopes-head">
        <label class="field fill">
          <SearchIcon />
          <input
            data-testid="list-filter"
            aria-label="Filter tasks"
            placeholder="Filter tasks"
            spellcheck={false}
            value={page.taskQuery.value}
            onInput={(event) => {
              page.taskQuery.value = event.currentTarget.value;
            }}
          />
        </label>
        <select
          class="menu-select"
          aria-label="Sort by"
          data-testid="list-sort"
          value={page.taskSort.value.key}
          onChange={(event) => {
            const key = event.currentTarget.value;
            page.taskSort.value = { key, descending: key !== "name" };
          }}
        >
          {ORDERS.some((order) => order.key === page.taskSort.value.key) ? null : (
            <option value={page.taskSort.value.key}>{page.taskSort.value.key}</option>
          )}
          {ORDERS.map((order) => (
            <option key={order.key} value={order.key}>
              {order.title}
            </option>
          ))}
        </select>
      </div>
      <VirtualTable<ScopeRow>
        label="Groups and tasks"
        testid="scope-list"
        headless
        tree
        rowHeight={42}
        columns={[column]}
        rows={rows}
        rowKey={(row) => row.key}
        rowClass={(row) => (row.type === "task" ? "" : "group")}
        rowAttributes={(row) =>
          row.type === "group"
            ? { "aria-level": 1, "aria-expanded": row.open, "data-group": row.title }
            : row.type === "task"
              ? { "aria-level": row.level, "data-task": row.id }
              : { "aria-level": 1 }
        }
        selected={selectedKey}
        onSelect={choose}
        onOpen={(row) => row.type === "group" && page.toggleUnfolded("listUnfolded", row.key)}
        onFold={(row, open) => row.type !== "all" && list.fold(row, open)}
        onPointer={held.onPointer}
        empty="No task yet."
      />
    </div>
  );
}

/** All tasks, on hubs or on all threads. */
function AllLine({ scope }: { scope: number }): JSX.Element {
  const page = usePage();
  const { tasks, groups, threads } = page.store;
  const kinds = page.kinds.value;
  let time = 0;
  for (let id = 0; id < groups.size; id++) {
    if (groups.has(id) && (scope === EVERYTHING || page.groupHubs.onHub(id))) {
      time += countedTime(groups.times(id), kinds);
    }
  }
  let count = 0;
  for (let row = 0; row < tasks.size; row++) {
    if (tasks.state[row] === 2) continue;
    const thread = threads.rowOf(tasks.thread[row]!);
    if (scope === EVERYTHING || thread < 0 || threads.hub[thread] !== 0 || page.groupHubs.apart() === null)
      count++;
  }
  return (
    <div class="line2">
      <div>
        <span class="fill strong">{nameOfScope(page, scope)}</span>
        <Time ns={time} />
      </div>
      <div class="weak">{formatCount(count)} tasks</div>
    </div>
  );
}

function GroupLine({ row, full }: { row: GroupRow; full: number }): JSX.Element {
  const page = usePage();
  const kinds = page.kinds.value;
  return (
    <div class="line2">
      <div>
        <Twisty open={row.open} onToggle={() => page.toggleUnfolded("listUnfolded", row.key)} />
        <span class="fill cut strong" title={row.title}>
          {row.title}
        </span>
        <Time ns={countedTime(row.times, kinds)} />
      </div>
      <div>
        <span class="fill cut counts">
          <Counts counts={row.counts} />
        </span>
        <Bar times={row.times} kinds={kinds} full={full} offHub={row.offHub} />
      </div>
    </div>
  );
}

function TaskLine(props: {
  id: number;
  full: number;
  pinned: boolean;
  level: number;
  offHub: boolean;
}): JSX.Element | null {
  const page = usePage();
  const { store } = page;
  const at = store.tasks.rowOf(props.id);
  if (at < 0) return null;
  const kinds = page.kinds.value;
  const times = store.tasks.times(at);
  const state = page.describe(at);
  return (
    <div class={`line2${props.level === 2 ? " indent" : ""}`} title={state.text}>
      <div>
        {props.pinned ? <PinIcon /> : null}
        <span class="fill cut">
          <TaskName row={at} />
        </span>
        <Time ns={countedTime(times, kinds)} />
      </div>
      <div>
        <span class="fill cut">
          <StateText state={state} />
          {state.place === "" ? null : <span class="weak"> {state.place}</span>}
        </span>
        <Bar times={times} kinds={kinds} full={props.full} offHub={props.offHub} />
      </div>
    </div>
  );
}
