import { formatCount, formatPercent, type Kind } from "@flamelet/model";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { HiddenChips } from "../flame/hidden-chips.tsx";
import { ScopeMenu } from "../flame/scope-menu.tsx";
import { Inspector } from "../inspector/inspector.tsx";
import { useHeldPointer } from "../parts/held-pointer.ts";
import { KindChips } from "../parts/kind-chips.tsx";
import { Bar, ModuleSwatch, Swatch } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../state/context.ts";
import type { Page } from "../state/page.ts";
import { selectedFunction } from "../state/selectors.ts";
import { StableOrder } from "../state/stable-order.ts";

const KINDS: readonly Kind[] = ["cpu", "blocked", "waited"];

/** Every function of the scope with its own and total times. */
export function TableView(): JSX.Element {
  const page = usePage();
  page.refreshStats();
  const held = useHeldPointer();
  const order = useMemo(() => new StableOrder<number>(), [page]);
  const fns = Array.from(page.stats.ids).filter(
    (fn) => !page.search.active || page.search.matchesFunction(fn),
  );
  const sort = page.tableSort.value;
  const value = sortValue(page, sort.key);
  const direction = sort.descending ? -1 : 1;
  const { functions } = page.store;
  const counted = `${KINDS.map((kind) => page.kinds.value[kind])}`;
  order.sort(
    fns,
    (fn) => fn,
    (a, b) => {
      const x = value(a);
      const y = value(b);
      return (x < y ? -direction : x > y ? direction : 0) || a - b;
    },
    `${sort.key} ${sort.descending} ${counted} ${page.scope.value}`,
    held.held(),
  );
  const selected = selectedFunction(page);
  return (
    <>
      <div class="tools">
        <ScopeMenu />
        <KindChips times={page.tree.totalTimes(0)} only={KINDS} />
        <HiddenChips />
        <span class="fill" />
        <span class="weak" data-testid="function-count">
          {formatCount(fns.length)} of {formatCount(page.stats.ids.length)} functions
        </span>
      </div>
      <div class="split">
        <div class="main">
          <VirtualTable<number>
            label="Functions"
            testid="functions-table"
            columns={columns(page)}
            rows={fns}
            rowKey={(fn) => String(fn)}
            rowAttributes={(fn) => ({ "data-function": functions.qualnameOf(fn) })}
            sort={sort}
            onSort={(key) => {
              const text = key === "name" || key === "where";
              page.tableSort.value = { key, descending: sort.key === key ? !sort.descending : !text };
            }}
            selected={selected === 0 ? null : String(selected)}
            onSelect={(fn) => {
              page.selection.value = { kind: "function", fn };
            }}
            onOpen={(fn) => page.openFunctionFlame(fn)}
            onHandle={page.setList}
            onPointer={held.onPointer}
            empty={
              page.search.active
                ? `No function matches “${page.query.value}”. Esc empties the search.`
                : "No function was called in this scope yet."
            }
          />
        </div>
        <Inspector />
      </div>
    </>
  );
}

function sortValue(page: Page, key: string): (fn: number) => number | string {
  const { stats, store } = page;
  const kinds = page.kinds.value;
  const [kind, which] = key.split("-");
  if (which === "own" || which === "total") return (fn) => stats[which][kind as Kind][fn]!;
  switch (key) {
    case "name":
      return (fn) => store.functions.qualnameOf(fn);
    case "where":
      return (fn) => page.placeOf(fn, 200);
    case "calls":
      return (fn) => stats.calls[fn]!;
    case "per-call":
      return (fn) => (stats.calls[fn]! > 0 ? totalOf(page, fn) / stats.calls[fn]! : 0);
    default:
      return (fn) => KINDS.reduce((sum, k) => (kinds[k] ? sum + stats.total[k][fn]! : sum), 0);
  }
}

function totalOf(page: Page, fn: number): number {
  const kinds = page.kinds.value;
  return KINDS.reduce((sum, kind) => (kinds[kind] ? sum + page.stats.total[kind][fn]! : sum), 0);
}

function columns(page: Page): Column<number>[] {
  const { stats, store } = page;
  const narrow = page.narrow.value;
  const kinds = page.kinds.value;
  const whole = page.tree.totalOf(0, kinds);
  const list: Column<number>[] = [
    {
      key: "name",
      title: "Function",
      width: 190,
      grow: true,
      sortable: true,
      cell: (fn) => (
        <span title={store.functions.qualnameOf(fn)}>
          <ModuleSwatch token={page.colours.token(page.modules.of(fn))} /> {store.functions.qualnameOf(fn)}
        </span>
      ),
    },
  ];
  if (!narrow) {
    list.push({
      key: "where",
      title: "Where",
      width: 172,
      sortable: true,
      cell: (fn) => (
        <span class="mono mid" title={store.functions.placeOf(fn)}>
          {page.placeOf(fn, 24)}
        </span>
      ),
    });
  }
  list.push({
    key: "share",
    title: "Share",
    width: narrow ? 118 : 136,
    sortable: true,
    hint: "Of the counted time that is shown, with everything it calls",
    cell: (fn) => {
      const times = {
        cpu: stats.total.cpu[fn]!,
        blocked: stats.total.blocked[fn]!,
        idle: 0,
        waited: stats.total.waited[fn]!,
      };
      return (
        <span class="share-cell">
          <Bar times={times} kinds={kinds} full={whole} />
          <span>{formatPercent(whole > 0 ? totalOf(page, fn) / whole : 0).text}</span>
        </span>
      );
    },
  });
  list.push({
    key: "calls",
    title: "Calls",
    width: 80,
    right: true,
    sortable: true,
    cell: (fn) => formatCount(stats.calls[fn]!),
  });
  for (const which of ["own", "total"] as const) {
    for (const kind of KINDS) {
      if (narrow && kind === "waited" && !kinds.waited) continue;
      list.push({
        key: `${kind}-${which}`,
        title: (
          <>
            <Swatch kind={kind} /> {which}
          </>
        ),
        hint: `${kind}, ${which === "own" ? "without its callees" : "with its callees"}`,
        width: narrow ? 66 : 72,
        right: true,
        dimmed: !kinds[kind],
        sortable: true,
        cell: (fn) => <Time ns={stats[which][kind][fn]!} />,
      });
    }
  }
  list.push({
    key: "per-call",
    title: "Per call",
    width: 74,
    right: true,
    sortable: true,
    cell: (fn) => <Time ns={stats.calls[fn]! > 0 ? totalOf(page, fn) / stats.calls[fn]! : 0} />,
  });
  return list;
}
