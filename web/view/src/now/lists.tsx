import { formatCount, type HubReport, type TaskActivity, waitSummary } from "@flamelet/model";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { ActivityIcon } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import type { Page } from "../state/page.ts";
import { hubRows, hubTitle, isOver } from "../state/selectors.ts";

const MOST = 7;
const MOST_PLACES = 14;

/** The task that each hub runs at this moment. */
export function HasHub({ report }: { report: HubReport }): JSX.Element {
  const page = usePage();
  const { threads, tasks } = page.store;
  const rows = hubRows(page).filter((row) => tasks.rowOf(threads.task[row]!) >= 0);
  const anyHub = rows.some((row) => threads.hub[row] !== 0);
  return (
    <section class="card" data-testid="has-hub">
      <h3>
        {isOver(page) ? "Had a hub at the end" : anyHub ? "Has a hub" : "Runs on"}
        {report.culprit === null ? null : <span class="weak"> {holding(report)}</span>}
      </h3>
      {rows.length === 0 ? <p class="weak">No thread was seen yet.</p> : null}
      {rows.map((row) => {
        const at = tasks.rowOf(threads.task[row]!);
        const state = page.describe(at);
        return (
          <TaskLine
            key={row}
            id={tasks.id[at]!}
            name={state.activity === "polling" ? hubTitle(page, row) : shortName(page, at)}
            where={state.activity === "polling" ? "waits for events" : state.place || tasks.nameOf(at)}
            state={state}
          />
        );
      })}
    </section>
  );
}

function holding(report: HubReport): string {
  const lasting = report.holders.filter((holder) => holder.lasting > 0).length;
  return lasting === 0 ? "" : `${lasting} held right now`;
}

/** With very many tasks these lists change every other second: looking through all is the dearest part of the page. */
const MANY = 5000;

function useBeat(page: Page): number {
  const ticks = page.ticks.value;
  return page.store.tasks.size > MANY ? Math.floor(ticks / 4) : ticks;
}

/** Tasks that wait longest for work of others: not for the next request or an empty queue. */
export function WaitsLongest(): JSX.Element {
  const page = usePage();
  const beat = useBeat(page);
  const { generation } = page.store;
  const waiting = useMemo(() => longestWaits(page), [page, beat, generation]);
  return (
    <section class="card" data-testid="waits-longest">
      <h3>
        Waits longest for work of others <span class="weak">idle waits left out</span>
      </h3>
      {waiting.length === 0 ? <p class="weak">Nobody waits.</p> : null}
      {waiting.map(({ id, name, state }) => (
        <TaskLine key={id} id={id} name={name} where={state.place} state={state} />
      ))}
    </section>
  );
}

function longestWaits(page: Page): { id: number; name: string; state: TaskActivity }[] {
  const { tasks } = page.store;
  const rows: number[] = [];
  for (let row = 0; row < tasks.size; row++)
    if (tasks.state[row] === 1 && tasks.hub[row] === 0) rows.push(row);
  rows.sort((a, b) => tasks.since[a]! - tasks.since[b]!);
  const waiting: { id: number; name: string; state: TaskActivity }[] = [];
  // From the longest on, only as many are described as are shown.
  for (const row of rows) {
    const state = page.describe(row);
    if (!state.idle) waiting.push({ id: tasks.id[row]!, name: shortName(page, row), state });
    if (waiting.length === MOST) break;
  }
  return waiting;
}

/** Its own name; what it runs and its id where it has none. */
function shortName(page: Page, row: number): string {
  const { tasks } = page.store;
  return tasks.name[row] === 0 ? `#${tasks.id[row]} ${tasks.nameOf(row)}` : tasks.nameOf(row);
}

function TaskLine(props: { id: number; name: string; where: string; state: TaskActivity }): JSX.Element {
  const page = usePage();
  return (
    <button
      type="button"
      class="entry task-line"
      title={`${props.name}, task ${props.id}: ${props.state.text}`}
      onClick={() => page.openTask(props.id)}
    >
      <span class="task cut">
        <ActivityIcon activity={props.state.activity} />
        {props.name}
      </span>
      <span class="fill cut weak">{props.where}</span>
      <span class="value">
        <Time ns={props.state.for} />
      </span>
    </button>
  );
}

/** Parked tasks by what they wait for. */
export function WaitsFor(): JSX.Element {
  const page = usePage();
  const beat = useBeat(page);
  const { generation } = page.store;
  const places = useMemo(() => waitSummary(page.store), [page, beat, generation]);
  const busiest = places.reduce((most, place) => (place.idle ? most : Math.max(most, place.tasks)), 1);
  return (
    <section class="card" data-testid="waits-for">
      <h3>
        Waits for <span class="weak">tasks, longest; idle waits below</span>
      </h3>
      {places.length === 0 ? <p class="weak">No task is parked.</p> : null}
      {places.slice(0, MOST_PLACES).map((place) => (
        <button
          key={`${place.place} ${place.idle}`}
          type="button"
          class={`entry wait-line${place.idle ? " weak" : ""}`}
          onClick={() => {
            page.taskQuery.value = place.place === "" ? "state:waiting" : `for:${place.place}`;
            page.show("tasks");
          }}
        >
          <span class="place cut">{place.place || "not known"}</span>
          <span class="bar-cell">
            {place.idle ? null : (
              <span class="bar">
                <i
                  class="part fill-waited"
                  style={{ width: `${((place.tasks / busiest) * 100).toFixed(1)}%` }}
                />
              </span>
            )}
          </span>
          <span class="times">{formatCount(place.tasks)}</span>
          <span class="value">
            <Time ns={place.longest} />
          </span>
        </button>
      ))}
    </section>
  );
}
