import { formatCount, type TaskTable } from "@flamelet/model";
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Inspector } from "../inspector/inspector.tsx";
import { Choice } from "../parts/choice.tsx";
import { useHeldPointer } from "../parts/held-pointer.ts";
import { KindChips } from "../parts/kind-chips.tsx";
import { Bar, PinIcon, Swatch } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { Counts, StateText, TaskName, Where } from "../parts/task-text.tsx";
import { Twisty } from "../parts/twisty.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../state/context.ts";
import type { Grouping, Page } from "../state/page.ts";
import { useTaskList } from "../state/task-list.ts";
import type { GroupRow, Row, Rows, TaskRow } from "../state/task-rows.ts";

const GROUPINGS: readonly { value: Grouping; title: string; short: string }[] = [
  { value: "entry", title: "Entry function", short: "Entry" },
  { value: "state", title: "State", short: "State" },
  { value: "waits", title: "Waits for", short: "Waits for" },
  { value: "hub", title: "Hub", short: "Hub" },
  { value: "none", title: "None", short: "None" },
];

/** All tasks as a live table: grouped, sorted, filtered. */
export function TasksView(): JSX.Element {
  const page = usePage();
  const held = useHeldPointer();
  const list = useTaskList(page, held.held, "unfolded");
  const narrow = page.narrow.value;
  const grouping = page.grouping.value;
  const columns = useColumns(page, list);
  const ended = page.showEnded.value ?? page.connection.value.state === "ended";
  const endedCount = list.endedHidden + countEnded(page.store.tasks, ended);
  return (
    <>
      <div class="tools">
        {narrow ? null : <span class="weak">Group by</span>}
        <Choice
          label="Group by"
          value={grouping}
          options={GROUPINGS.map((g) => ({ value: g.value, title: narrow ? g.short : g.title }))}
          onChange={(value) => {
            page.grouping.value = value;
          }}
        />
        <span class="rule" />
        <KindChips only={["cpu", "blocked", "waited"]} />
        <span class="fill" />
        {endedCount > 0 ? (
          <button
            type="button"
            class="kind"
            data-testid="show-ended"
            aria-pressed={ended}
            title="Tasks that have ended, as far as they are still known"
            onClick={() => {
              page.showEnded.value = !ended;
            }}
          >
            ended <span>{formatCount(endedCount)}</span>
          </button>
        ) : null}
        <span class="weak" data-testid="task-count">
          {formatCount(list.shown)} of {formatCount(list.of)} tasks
        </span>
      </div>
      <div class="split">
        <div class="main">
          <VirtualTable<Row>
            label="Tasks"
            testid="tasks-table"
            tree={grouping !== "none"}
            columns={columns}
            rows={list.rows}
            rowKey={(row) => row.key}
            rowClass={(row) => (row.type === "group" ? "group" : row.pinned ? "pinned" : "")}
            rowAttributes={(row) =>
              row.type === "group"
                ? { "aria-level": 1, "aria-expanded": row.open, "data-group": row.title }
                : { "aria-level": row.level, "data-task": row.id }
            }
            sort={page.taskSort.value}
            onSort={(key) => sortBy(page, key)}
            selected={list.selectedKey}
            onSelect={(row) => list.select(row)}
            onOpen={(row) => list.open(row)}
            onFold={(row, open) => list.fold(row, open)}
            onHandle={page.setList}
            onPointer={held.onPointer}
            empty={
              page.taskQuery.value === ""
                ? "No task yet."
                : `No task matches “${page.taskQuery.value}”. Esc empties the search.`
            }
          />
        </div>
        <Inspector fallback={list.fallback} />
      </div>
    </>
  );
}

function countEnded(tasks: TaskTable, shown: boolean): number {
  if (!shown) return 0;
  let count = 0;
  for (let row = 0; row < tasks.size; row++) if (tasks.state[row] === 2) count++;
  return count;
}

function sortBy(page: Page, key: string): void {
  const old = page.taskSort.value;
  page.taskSort.value = { key, descending: old.key === key ? !old.descending : key !== "name" };
}

function useColumns(page: Page, list: Rows): Column<Row>[] {
  const narrow = page.narrow.value;
  const kinds = page.kinds.value;
  const grouping = page.grouping.value;
  return useMemo(() => {
    const { store } = page;
    const { tasks } = store;
    const cells =
      (
        group: (row: GroupRow) => ComponentChildren,
        task: (row: number, line: TaskRow) => ComponentChildren,
      ) =>
      (row: Row): ComponentChildren => {
        if (row.type === "group") return group(row);
        const at = tasks.rowOf(row.id);
        return at < 0 ? null : task(at, row);
      };
    const columns: Column<Row>[] = [
      {
        key: "state",
        title: "State now",
        width: narrow ? 142 : 146,
        sortable: true,
        hint: "Sort by state, then by how long in it",
        cell: cells(
          (row) => (
            <>
              <Twisty open={row.open} onToggle={() => page.toggleUnfolded("unfolded", row.key)} />
              {row.tasks === 0 ? (
                <span class="weak">no task now</span>
              ) : (
                <>
                  <span class="strong">{formatCount(row.tasks)}</span> {row.tasks === 1 ? "task" : "tasks"}
                </>
              )}
            </>
          ),
          (at, line) => (
            <>
              {line.pinned ? <PinIcon /> : null}
              <span class={line.level === 2 ? "indent" : ""}>
                <StateText state={page.describe(at)} />
              </span>
            </>
          ),
        ),
      },
      {
        key: "name",
        title: grouping === "none" ? "Task" : "Group, task",
        width: narrow ? 150 : 170,
        sortable: true,
        cell: cells(
          (row) => <span class="strong">{row.title}</span>,
          (at) => <TaskName row={at} />,
        ),
      },
    ];
    columns.push({
      key: "where",
      title: "Where",
      width: narrow ? 90 : 150,
      grow: true,
      cell: cells(
        (row) => <Counts counts={row.counts} />,
        (at) => <Where state={page.describe(at)} />,
      ),
    });
    columns.push({
      key: "hub",
      title: "Hub time",
      width: narrow ? 78 : 108,
      sortable: true,
      hint: "Time that it had its hub: cpu and blocked",
      cell: cells(
        (row) => <Bar times={row.times} kinds={kinds} full={list.fullGroup} offHub={row.offHub} />,
        (at, line) => <Bar times={tasks.times(at)} kinds={kinds} full={list.fullTask} offHub={line.offHub} />,
      ),
    });
    for (const kind of ["cpu", "blocked", "waited"] as const) {
      columns.push({
        key: kind,
        title: (
          <>
            <Swatch kind={kind} /> {kind}
          </>
        ),
        width: narrow ? 72 : 80,
        right: true,
        dimmed: !kinds[kind],
        sortable: true,
        cell: cells(
          (row) => <Time ns={row.times[kind]} />,
          (at) => <Time ns={tasks.times(at)[kind]} />,
        ),
      });
    }
    if (!narrow) {
      columns.push({
        key: "switches",
        title: "Switches",
        width: 78,
        right: true,
        sortable: true,
        hint: "Times it was switched to",
        cell: cells(
          (row) => formatCount(row.switches),
          (at) => formatCount(tasks.switches[at]!),
        ),
      });
    }
    columns.push({
      key: "longest",
      title: "Longest",
      width: 74,
      right: true,
      sortable: true,
      hint: "Its longest slice: the longest time it kept its hub without a switch",
      cell: cells(
        (row) => <Time ns={row.longest} />,
        (at) => <Time ns={tasks.longest[at]!} />,
      ),
    });
    return columns;
    // The cells read the store itself; only what is named here shapes the columns.
  }, [page, narrow, kinds, grouping, list.fullGroup, list.fullTask]);
}
