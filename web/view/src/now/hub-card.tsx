import { formatCount, formatPercent, formatTime, type HubReport, type Times } from "@flamelet/model";
import type { JSX } from "preact";
import { palette } from "../canvas/palette.ts";
import { paintStrip, type StripMark } from "../canvas/strip.ts";
import { Canvas } from "../parts/canvas.tsx";
import { ActivityIcon, Swatch } from "../parts/marks.tsx";
import { Figure } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import { gilWaitNow } from "../state/gil-wait.ts";
import type { Page } from "../state/page.ts";
import { hubNow, hubTitle, isOver, lostFor } from "../state/selectors.ts";

export const SPAN = 120e9;

/** One hub: what it does now, its shares of the last two minutes, and the strip. */
export function HubCard({ row, report }: { row: number; report: HubReport }): JSX.Element {
  const page = usePage();
  const { threads, tasks } = page.store;
  const id = threads.id[row]!;
  const shares = recentShares(page, id);
  const title = hubTitle(page, row);
  const name = threads.nameOf(row);
  let count = 0;
  let longest = 0;
  for (let task = 0; task < tasks.size; task++)
    if (tasks.thread[task] === id && tasks.state[task] !== 2) count++;
  const { slices } = page.store;
  for (let slice = 0; slice < slices.size; slice++) {
    if (slices.thread[slice] === id) longest = Math.max(longest, slices.end[slice]! - slices.begin[slice]!);
  }
  return (
    <section class="hub-card" data-testid="hub-card">
      <header>
        <h2>{title}</h2>
        <span class="weak cut">
          {name === title ? "" : `${name}, `}
          {formatCount(count)} {count === 1 ? "task" : "tasks"}
        </span>
        <HubState row={row} report={report} />
        <span class="fill" />
        {(["cpu", "blocked", "idle"] as const).map((kind) => (
          <span key={kind} class="share" title={`${kind}, share of the last two minutes`}>
            {kind === "idle" ? null : <Swatch kind={kind} />}
            <span class={kind === "idle" ? "" : "wide"}>{kind}</span>
            <b class="strong">{formatPercent(shares[kind]).text}</b>
          </span>
        ))}
        {longest > 0 ? (
          <span class="share">
            longest <b class="strong">{formatTime(longest).text}</b>
          </span>
        ) : null}
      </header>
      <HubStrip thread={id} large />
    </section>
  );
}

/** The strip alone; follows every update. */
export function HubStrip({ thread, large }: { thread: number; large?: boolean }): JSX.Element {
  const page = usePage();
  const updates = page.updates.value;
  const lost = lostFor(page);
  const over = isOver(page);
  return (
    <Canvas
      class={large ? "strip large" : "strip"}
      version={`${updates} ${lost} ${over}`}
      draw={(g, width, height) => {
        paintStrip(
          g,
          width,
          height,
          {
            ring: page.store.history(thread),
            now: page.store.now,
            span: SPAN,
            lost,
            marks: large ? marksOf(page, thread) : [],
            large: large === true,
            ended: over,
          },
          palette(),
        );
      }}
    />
  );
}

/** Long slices as marks, tallest for twice the threshold and more. */
function marksOf(page: Page, thread: number): StripMark[] {
  const { slices } = page.store;
  const threshold = page.session.value?.threshold ?? 100e6;
  const marks: StripMark[] = [];
  for (let slice = 0; slice < slices.size; slice++) {
    if (slices.thread[slice] !== thread) continue;
    const length = slices.end[slice]! - slices.begin[slice]!;
    marks.push({
      at: slices.end[slice]!,
      size: Math.min(1, length / (2 * threshold)),
      blocked: slices.blocked[slice]! >= slices.cpu[slice]!,
    });
  }
  return marks;
}

/** "blocked 124 ms by report", "running client-17", "idle". */
export function HubState({ row, report }: { row: number; report: HubReport }): JSX.Element {
  const page = usePage();
  const lost = lostFor(page);
  if (lost > 0) {
    return (
      <span class="weak nowrap">
        unknown for <Figure of={formatTime(lost)} prose />
      </span>
    );
  }
  if (isOver(page)) return <span class="weak">ended</span>;
  // Whoever waits for the GIL does not hold up its hub by what it does.
  const gil = gilWaitNow(page.store, row);
  if (gil !== "") {
    return (
      <span class="is-blocked cut hub-state" data-testid="hub-state" title={gil}>
        <ActivityIcon activity="blocking" />
        {gil}
      </span>
    );
  }
  const now = hubNow(page, row, report);
  switch (now.activity) {
    case "blocking":
      return (
        <span class="is-blocked cut hub-state" data-testid="hub-state">
          <ActivityIcon activity="blocking" />
          <b class="strong">
            blocked <Figure of={formatTime(now.for)} prose />
          </b>{" "}
          by {now.who}
        </span>
      );
    case "running":
      return (
        <span class="cut hub-state" data-testid="hub-state">
          <ActivityIcon activity="running" />
          running {now.who}
        </span>
      );
    default:
      return (
        <span class="weak cut hub-state" data-testid="hub-state">
          {now.activity === "polling" ? "idle" : ""}
        </span>
      );
  }
}

function recentShares(page: Page, thread: number): Pick<Times, "cpu" | "blocked" | "idle"> {
  const ring = page.store.history(thread);
  const sums = { cpu: 0, blocked: 0, idle: 0 };
  if (ring === undefined) return sums;
  for (let k = 0; k < ring.length; k++) {
    sums.cpu += ring.cpu(k);
    sums.blocked += ring.blocked(k);
    sums.idle += ring.idle(k);
  }
  const whole = sums.cpu + sums.blocked + sums.idle;
  return whole > 0 ? { cpu: sums.cpu / whole, blocked: sums.blocked / whole, idle: sums.idle / whole } : sums;
}
