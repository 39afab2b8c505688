import {
  actorOf,
  formatClock,
  formatCount,
  formatDuration,
  type Holder,
  type HubReport,
} from "@flamelet/model";
import type { JSX } from "preact";
import { palette } from "../canvas/palette.ts";
import { paintMarks, type StripMark } from "../canvas/strip.ts";
import { Canvas } from "../parts/canvas.tsx";
import { Bar, HUB_KINDS } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { TaskName } from "../parts/task-text.tsx";
import { usePage } from "../state/context.ts";
import { gilWaitNow, gilWaitOf, gilWaitOfHeld } from "../state/gil-wait.ts";
import type { Page } from "../state/page.ts";
import { hubTitle } from "../state/selectors.ts";
import { SPAN } from "./hub-card.tsx";

const MOST_HOLDERS = 8;
const MOST_SLICES = 40;

/** What held a hub for longer than the threshold, grouped by what it was. */
export function Held({ report }: { report: HubReport }): JSX.Element {
  const page = usePage();
  const threshold = page.session.value?.threshold ?? 100e6;
  const longest = report.holders.reduce((most, holder) => Math.max(most, holder.longest), 0);
  return (
    <section class="card" data-testid="held">
      <h3>
        Held a hub for more than {formatDuration(threshold)}{" "}
        <span class="weak">last {formatDuration(Math.max(report.window, 1e9))}, by what held it</span>
      </h3>
      {report.holders.length === 0 ? (
        <p class="weak">Nothing did.</p>
      ) : (
        <>
          <div class="held head">
            <span class="path">Path</span>
            <span class="when">When</span>
            <span class="times">Times</span>
            <span class="longest">Longest</span>
            <span class="bar-cell" />
            <span class="sum">Together</span>
          </div>
          {report.holders.slice(0, MOST_HOLDERS).map((holder) => (
            <HolderRow
              key={`${holder.thread} ${holder.group} ${holder.path.join()}`}
              holder={holder}
              longest={longest}
            />
          ))}
          {report.holders.length > MOST_HOLDERS ? (
            <p class="weak more">
              {formatCount(report.holders.length - MOST_HOLDERS)} more, with less time together
            </p>
          ) : null}
        </>
      )}
    </section>
  );
}

function HolderRow({ holder, longest }: { holder: Holder; longest: number }): JSX.Element {
  const page = usePage();
  const names = holderPath(page, holder);
  const gil = gilWaitOfHeld(page.store, holder);
  const scale = holder.count > 0 ? holder.longest / (holder.meanCpu + holder.meanBlocked || 1) : 0;
  const times = { cpu: holder.meanCpu * scale, blocked: holder.meanBlocked * scale, idle: 0, waited: 0 };
  return (
    <button
      type="button"
      class="held entry"
      data-testid="held-row"
      title={[page.store.functions.placeOf(holder.place), gil, "Opens in Flame"].filter(Boolean).join("\n")}
      onClick={() => page.openFlame(holder.group, holder.path)}
    >
      <span class="path cut">
        <b class="strong">{names[0]}</b>
        {gil === "" ? null : <GilTag />}
        {names.slice(1).map((name, i) => (
          <span key={i} class="mid">
            {" "}
            › {name}
          </span>
        ))}
      </span>
      <span class="when">
        <Canvas
          version={page.store.version}
          draw={(g, width, height) =>
            paintMarks(g, width, height, marksOf(page, holder), page.store.now, SPAN, palette())
          }
        />
      </span>
      <span class="times">{formatCount(holder.count)}</span>
      <span class="longest">
        <Time ns={holder.longest} />
      </span>
      <span class="bar-cell">
        <Bar times={times} kinds={HUB_KINDS} full={longest} />
      </span>
      <span class="sum">
        <Time ns={holder.held} />
      </span>
    </button>
  );
}

function GilTag(): JSX.Element {
  return <span class="tag">GIL</span>;
}

/** From the function that acts to the place; what lies between is left out but for the next. */
function holderPath(page: Page, holder: Holder): string[] {
  const { functions } = page.store;
  const from = Math.max(0, holder.path.indexOf(holder.actor));
  const path = holder.path.slice(from);
  const shown =
    path.length <= 4 ? path : [path[0]!, path[1]!, path[path.length - 2]!, path[path.length - 1]!];
  const names = shown.map((fn, i) => (i === 0 ? functions.nameOf(fn) : functions.qualnameOf(fn)));
  if (path.length > 4) names.splice(2, 0, "…");
  return names;
}

function marksOf(page: Page, holder: Holder): StripMark[] {
  const { slices } = page.store;
  const marks: StripMark[] = [];
  for (const id of holder.slices) {
    const row = slices.rowOf(id);
    if (row < 0) continue;
    marks.push({
      at: slices.end[row]!,
      size: holder.longest > 0 ? (slices.end[row]! - slices.begin[row]!) / holder.longest : 1,
      blocked: slices.blocked[row]! >= slices.cpu[row]!,
    });
  }
  if (holder.lasting > 0) marks.push({ at: page.store.now, size: 1, blocked: holder.blocked >= holder.cpu });
  return marks;
}

interface LatestRow {
  key: string;
  begin: number;
  cpu: number;
  blocked: number;
  length: number;
  thread: number;
  task: number;
  group: number;
  path: readonly number[];
  lasting: boolean;
  /** What it had to do with the GIL, "" for nothing. */
  gil: string;
}

/** The latest long slices, those that still last first. */
export function Latest({ report }: { report: HubReport }): JSX.Element | null {
  const page = usePage();
  const { store } = page;
  const rows = latestRows(page, report);
  if (rows.length === 0) return null;
  const longest = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const epoch = page.session.value?.epoch ?? 0;
  return (
    <section class="card" data-testid="latest">
      <h3>
        Latest <span class="weak">each opens in Flame</span>
      </h3>
      {rows.map((row) => {
        const task = store.tasks.rowOf(row.task);
        const actor = actorOf(row.path, page.modules) || (row.path[0] ?? 0);
        const rest = row.path.slice(row.path.indexOf(actor) + 1).slice(-2);
        const thread = store.threads.rowOf(row.thread);
        return (
          <button
            key={row.key}
            type="button"
            class="slice entry"
            data-testid="latest-row"
            title={row.gil || undefined}
            onClick={() => page.openFlame(row.group, row.path)}
          >
            <span class="mid clock">{formatClock(epoch, row.begin)}</span>
            <span class="longest">
              <Time ns={row.length} />
            </span>
            <span class="bar-cell">
              <Bar
                times={{ cpu: row.cpu, blocked: row.blocked, idle: 0, waited: 0 }}
                kinds={HUB_KINDS}
                full={longest}
              />
            </span>
            <span class="actor cut">
              {store.functions.nameOf(actor)}
              {row.gil === "" ? null : <GilTag />}
            </span>
            <span class="task cut">
              {task < 0 ? (
                <>
                  #{row.task} <span class="weak">{page.groupName(row.group)}</span>
                </>
              ) : (
                <TaskName row={task} />
              )}
            </span>
            <span class={`fill cut weak${row.gil === "" ? "" : " gil"}`}>
              {row.lasting ? <b class="is-blocked strong">still running </b> : null}
              {row.gil !== "" ? (
                <span class="mid">{row.gil}</span>
              ) : row.lasting ? null : (
                rest.map((fn) => store.functions.qualnameOf(fn)).join(" › ")
              )}
            </span>
            <span class="weak hub">{thread < 0 ? "" : hubTitle(page, thread)}</span>
          </button>
        );
      })}
    </section>
  );
}

function latestRows(page: Page, report: HubReport): LatestRow[] {
  const { store } = page;
  const { slices, threads, nodes } = store;
  const rows: LatestRow[] = [];
  for (const holder of report.holders) {
    const row = threads.rowOf(holder.thread);
    if (holder.lasting <= 0 || row < 0) continue;
    rows.push({
      key: `now ${holder.thread}`,
      begin: threads.slice[row]!,
      cpu: threads.sliceCpu[row]!,
      blocked: threads.sliceBlocked[row]!,
      length: holder.lasting,
      thread: holder.thread,
      task: holder.task,
      group: holder.group,
      path: holder.path,
      lasting: true,
      gil: gilWaitNow(store, row),
    });
  }
  for (let slice = slices.size - 1; slice >= 0 && rows.length < MOST_SLICES; slice--) {
    rows.push({
      key: String(slices.id[slice]),
      begin: slices.begin[slice]!,
      cpu: slices.cpu[slice]!,
      blocked: slices.blocked[slice]!,
      length: slices.end[slice]! - slices.begin[slice]!,
      thread: slices.thread[slice]!,
      task: slices.task[slice]!,
      group: slices.group[slice]!,
      path: nodes.path(slices.node[slice]!),
      lasting: false,
      gil: gilWaitOf(store, slice),
    });
  }
  return rows;
}
