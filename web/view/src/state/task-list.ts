import { useEffect, useMemo } from "preact/hooks";
import type { Grouping, Page, Selection } from "./page.ts";
import { isOver } from "./selectors.ts";
import { type Row, type Rows, TaskRows } from "./task-rows.ts";

export interface TaskList extends Rows {
  selectedKey: string | null;
  /** What an inspector shows while nothing is selected: the first task, or the first group. */
  fallback: Selection;
  select: (row: Row) => void;
  /** Double click or Enter: a group folds, a task shows its flame. */
  open: (row: Row) => void;
  /** Folds or unfolds a group; of a task, the group above it. */
  fold: (row: Row, open: boolean) => void;
}

/** The list of tasks with what is selected in it. `held`: the order must not change now. */
export function useTaskList(
  page: Page,
  held: () => boolean,
  folds: "unfolded" | "listUnfolded",
  grouping: Grouping = page.grouping.value,
): TaskList {
  const builder = useMemo(() => new TaskRows(page), [page]);
  const list = builder.build({
    grouping,
    sort: page.taskSort.value,
    filter: page.taskQuery.value,
    pinned: page.pinned.value,
    unfolded: page[folds].value ?? NONE,
    ended: page.showEnded.value ?? isOver(page),
    kinds: page.kinds.value,
    onHub: (group) => page.groupHubs.onHub(group),
    hold: held(),
  });
  // Something must be open at first, or nobody sees that there are tasks inside: the group that comes first.
  const first = page[folds].value === null ? list.rows.find((row) => row.type === "group")?.key : undefined;
  useEffect(() => {
    if (first !== undefined) page.toggleUnfolded(folds, first, true);
  }, [page, folds, first]);
  return { ...list, ...selectionIn(page, list.rows, folds) };
}

const NONE: ReadonlySet<string> = new Set();

function selectionIn(
  page: Page,
  rows: readonly Row[],
  folds: "unfolded" | "listUnfolded",
): Omit<TaskList, keyof Rows> {
  const selection = page.selection.value;
  let selectedKey: string | null = null;
  if (selection?.kind === "task") {
    const row = rows.find(
      (r) => r.type === "task" && r.id === selection.id && (!r.pinned || page.pinnedFocus.value),
    );
    selectedKey = row?.key ?? rows.find((r) => r.type === "task" && r.id === selection.id)?.key ?? null;
  } else if (selection?.kind === "group") {
    selectedKey = selection.key;
  }
  const first = rows.find((r) => r.type === "task");
  return {
    selectedKey,
    fallback:
      first === undefined ? (rows[0] === undefined ? null : selectionOf(rows[0])) : selectionOf(first),
    select: (row) => {
      page.pinnedFocus.value = row.type === "task" && row.pinned;
      page.selection.value = selectionOf(row);
    },
    open: (row) => {
      if (row.type === "group") page.toggleUnfolded(folds, row.key);
      else page.openTaskFlame(row.id);
    },
    fold: (row, open) => {
      const at = rows.findIndex((other) => other.key === row.key);
      for (let i = at; i >= 0; i--) {
        const group = rows[i];
        if (group?.type !== "group") continue;
        page.toggleUnfolded(folds, group.key, open);
        if (group !== row && !open) {
          page.selection.value = selectionOf(group);
        }
        return;
      }
    },
  };
}

function selectionOf(row: Row): Selection {
  return row.type === "task"
    ? { kind: "task", id: row.id }
    : { kind: "group", key: row.key, group: row.group, title: row.title };
}
