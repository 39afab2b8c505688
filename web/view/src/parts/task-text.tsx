import { type Activity, formatCount, formatTime, type TaskActivity } from "@flamelet/model";
import type { ComponentChildren, JSX } from "preact";
import { usePage } from "../state/context.ts";
import type { StateCounts } from "../state/task-rows.ts";
import { ActivityIcon } from "./marks.tsx";
import { Figure } from "./quantity.tsx";

const VERBS: Readonly<Record<Activity, string>> = {
  running: "running",
  blocking: "blocking",
  polling: "polling",
  waiting: "waiting",
  ended: "ended",
};

/**
 * "client-17 #45"; of a task without a name of its own "#45 worker": all of its group are called the same, and what tells
 * them apart must not be what is cut.
 */
export function TaskName({ row }: { row: number }): JSX.Element {
  const { tasks } = usePage().store;
  const name = tasks.nameOf(row);
  const id = `#${tasks.id[row]}`;
  return tasks.name[row] === 0 ? (
    <>
      {id} <span class="weak">{name}</span>
    </>
  ) : (
    <>
      {name} <span class="weak">{id}</span>
    </>
  );
}

/** Icon, verb and time in that state: "waiting 3.42 s". */
export function StateText({ state }: { state: TaskActivity }): JSX.Element {
  const tone = state.activity === "blocking" ? "is-blocked strong" : state.activity === "ended" ? "weak" : "";
  return (
    <>
      <ActivityIcon activity={state.activity} />
      <span class={tone}>
        {VERBS[state.activity]}
        {state.activity === "ended" ? null : (
          <>
            {" "}
            <Figure of={formatTime(state.for)} prose />
          </>
        )}
      </span>
    </>
  );
}

/** "Queue.get ‹ worker": what it waits in, or where it is, and who called that. */
export function Where({ state }: { state: TaskActivity }): JSX.Element | null {
  if (state.place === "") return null;
  return (
    <>
      <span class="mid">{state.place}</span>
      {state.caller === "" ? null : <span class="weak"> ‹ {state.caller}</span>}
    </>
  );
}

/** Counts by state of a group, as icons and numbers. */
export function Counts({ counts }: { counts: StateCounts }): JSX.Element {
  const shown: ComponentChildren[] = [];
  for (const activity of ["blocking", "running", "polling", "waiting", "ended"] as const) {
    if (counts[activity] === 0) continue;
    shown.push(
      <span key={activity} class="count" title={`${formatCount(counts[activity])} ${VERBS[activity]}`}>
        <ActivityIcon activity={activity} />
        <span class="unseen">{VERBS[activity]} </span>
        {formatCount(counts[activity])}
      </span>,
    );
  }
  return <>{shown}</>;
}
