// biome-ignore-all lint/a11y/useSemanticElements: a table element can't hold only the rows in sight, nor scroll them
// biome-ignore-all lint/a11y/useFocusableInteractive: the scroller holds the focus for all rows and cells
// biome-ignore-all lint/a11y/useKeyWithClickEvents: keys go to the scroller
// biome-ignore-all lint/a11y/noStaticElementInteractions: its role is chosen at run time, and is grid or treegrid
// biome-ignore-all lint/a11y/useAriaPropsSupportedByRole: as above
import type { ComponentChildren, CSSProperties, HTMLAttributes, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { visibleRange } from "./visible-range.ts";

export interface Column<Row> {
  key: string;
  title: ComponentChildren;
  /** CSS pixels; a growing column takes what is left beside this. */
  width: number;
  grow?: boolean;
  right?: boolean;
  /** Of a time kind that is not counted now. */
  dimmed?: boolean;
  sortable?: boolean;
  hint?: string;
  cell: (row: Row) => ComponentChildren;
}

export interface Sort {
  key: string;
  descending: boolean;
}

interface Props<Row> {
  label: string;
  testid: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  rowClass?: (row: Row) => string;
  /** Attributes for tests and assistive technology: level, expanded, data-*. */
  rowAttributes?: (row: Row) => HTMLAttributes<HTMLDivElement> & Record<`data-${string}`, string | number>;
  rowHeight?: number;
  tree?: boolean;
  sort?: Sort;
  onSort?: (key: string) => void;
  /** Without column titles. */
  headless?: boolean;
  selected: string | null;
  onSelect: (row: Row) => void;
  onOpen?: (row: Row) => void;
  /** The pointer came in or left: an order that changes by itself waits for it. */
  onPointer?: (inside: boolean) => void;
  /** Left and right keys on a row of a tree. */
  onFold?: (row: Row, open: boolean) => void;
  /** Hands out what keys outside of the table may drive. */
  onHandle?: (handle: ListHandle | null) => void;
  empty: ComponentChildren;
}

export type ListMove = "up" | "down" | "pageUp" | "pageDown" | "home" | "end" | "left" | "right" | "enter";

export interface ListHandle {
  move(to: ListMove): void;
}

const MOVES: Readonly<Record<string, ListMove>> = {
  ArrowUp: "up",
  ArrowDown: "down",
  PageUp: "pageUp",
  PageDown: "pageDown",
  Home: "home",
  End: "end",
  ArrowLeft: "left",
  ArrowRight: "right",
  Enter: "enter",
};

const ROW = 24;
const HEAD = 28;

/**
 * A table of any length that holds only the rows in sight in the document. The header scrolls sideways with the rows and
 * stays on top. The scroller holds the focus for all rows.
 */
export function VirtualTable<Row>(props: Props<Row>): JSX.Element {
  const { rows, columns, rowKey, rowHeight = ROW } = props;
  const head = props.headless ? 0 : HEAD;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () => {
      const { scrollTop, clientHeight } = element;
      setView((old) =>
        old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight },
      );
    };
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  const selectedIndex =
    props.selected === null ? -1 : rows.findIndex((row) => rowKey(row) === props.selected);
  const previous = useRef(props.selected);
  // Follow the selection when it moves, never when the order changes under it.
  useLayoutEffect(() => {
    if (previous.current === props.selected) return;
    previous.current = props.selected;
    const element = scroller.current;
    if (element === null || selectedIndex < 0) return;
    const top = selectedIndex * rowHeight;
    const bottom = top + rowHeight + head;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight)
      element.scrollTop = bottom - element.clientHeight;
  });

  const move = (to: ListMove): void => {
    const page = Math.max(1, Math.floor((view.height - head) / rowHeight) - 1);
    const current = rows[selectedIndex];
    if (to === "enter") {
      if (current !== undefined) props.onOpen?.(current);
      return;
    }
    if (to === "left" || to === "right") {
      if (current !== undefined) props.onFold?.(current, to === "right");
      return;
    }
    const steps = { up: -1, down: 1, pageUp: -page, pageDown: page, home: -rows.length, end: rows.length };
    const from = selectedIndex < 0 ? (steps[to] > 0 ? -1 : rows.length) : selectedIndex;
    const row = rows[Math.min(rows.length - 1, Math.max(0, from + steps[to]))];
    if (row !== undefined) props.onSelect(row);
  };
  const latestMove = useRef(move);
  latestMove.current = move;
  const { onHandle } = props;
  useLayoutEffect(() => {
    onHandle?.({ move: (to) => latestMove.current(to) });
    return () => onHandle?.(null);
  }, [onHandle]);

  const range = visibleRange(view.top, view.height - head, rowHeight, rows.length);
  const shown: JSX.Element[] = [];
  for (let i = range.first; i < range.end; i++) {
    const row = rows[i];
    if (row === undefined) continue;
    const key = rowKey(row);
    shown.push(
      <div
        key={key}
        id={`${props.testid}-${key}`}
        class={`tr ${props.rowClass?.(row) ?? ""}`}
        role="row"
        tabIndex={-1}
        aria-rowindex={i + 2}
        aria-selected={i === selectedIndex}
        style={{ transform: `translateY(${i * rowHeight}px)`, height: `${rowHeight}px` }}
        onClick={() => props.onSelect(row)}
        onDblClick={() => props.onOpen?.(row)}
        {...props.rowAttributes?.(row)}
      >
        {columns.map((column) => (
          <div key={column.key} role="gridcell" class={cellClass(column)} style={cellStyle(column)}>
            {column.cell(row)}
          </div>
        ))}
      </div>,
    );
  }

  const width = columns.reduce((sum, column) => sum + column.width, 24);
  return (
    <div
      ref={scroller}
      class="vt"
      data-testid={props.testid}
      role={props.tree ? "treegrid" : "grid"}
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={
        selectedIndex >= range.first && selectedIndex < range.end
          ? `${props.testid}-${props.selected}`
          : undefined
      }
      tabIndex={0}
      onKeyDown={(event) => {
        const to = MOVES[event.key];
        if (to === undefined || event.target !== event.currentTarget) return;
        if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        move(to);
      }}
      onPointerEnter={() => props.onPointer?.(true)}
      onPointerLeave={() => props.onPointer?.(false)}
    >
      {props.headless ? null : (
        <div class="th" role="row" aria-rowindex={1} style={{ minWidth: `${width}px` }}>
          {columns.map((column) => {
            const on = props.sort?.key === column.key;
            return (
              <div
                key={column.key}
                role="columnheader"
                tabIndex={-1}
                class={cellClass(column)}
                style={cellStyle(column)}
                aria-sort={on ? (props.sort?.descending ? "descending" : "ascending") : undefined}
              >
                {column.sortable ? (
                  <button
                    type="button"
                    tabIndex={-1}
                    title={column.hint}
                    data-on={on || undefined}
                    onClick={() => props.onSort?.(column.key)}
                  >
                    {on ? <span class="arrow">{props.sort?.descending ? "↓" : "↑"}</span> : null}
                    {column.title}
                  </button>
                ) : (
                  <span title={column.hint}>{column.title}</span>
                )}
              </div>
            );
          })}
        </div>
      )}
      <div class="tb" style={{ height: `${rows.length * rowHeight}px`, minWidth: `${width}px` }}>
        {shown}
      </div>
      {rows.length === 0 ? <div class="nothing">{props.empty}</div> : null}
    </div>
  );
}

function cellClass<Row>(column: Column<Row>): string {
  return `c${column.right ? " r" : ""}${column.dimmed ? " dimmed" : ""}`;
}

function cellStyle<Row>(column: Column<Row>): CSSProperties {
  return column.grow
    ? { flex: `1 1 ${column.width}px`, minWidth: `${column.width}px` }
    : { flex: `0 0 ${column.width}px` };
}
