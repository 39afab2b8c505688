import { formatCount, formatTime, type Status } from "@flamelet/model";
import type { ComponentChildren, JSX } from "preact";
import { usePage } from "../state/context.ts";
import type { ViewName } from "../state/page.ts";

const KEYS: Readonly<Record<ViewName, readonly (readonly [string, string])[]>> = {
  now: [
    ["F", "flame of the culprit"],
    ["T", "its timeline"],
    ["/", "search"],
  ],
  tasks: [
    ["↑↓", "row"],
    ["←→", "fold"],
    ["P", "pin"],
    ["F", "flame"],
  ],
  flame: [
    ["←↑↓→", "move"],
    ["Enter", "zoom"],
    ["Esc", "out"],
    ["X", "hide"],
  ],
  timeline: [
    ["W S", "zoom"],
    ["A D", "pan"],
    ["←→", "slice"],
    ["N", "next long slice"],
  ],
  table: [
    ["↑↓", "row"],
    ["Enter", "flame"],
    ["X", "hide"],
  ],
};

/** How good the numbers are, and the keys of this view. */
export function Footer(): JSX.Element {
  const page = usePage();
  const { status } = page.store;
  const { state } = page.connection.value;
  return (
    <footer class="foot">
      <span data-testid="rate">
        {state === "live"
          ? rateText(page.frozen.value, page.rate())
          : state === "ended"
            ? "final"
            : "no updates"}
      </span>
      {status === null ? null : (
        <>
          <span>
            {formatCount(status.tasks)} tasks, {formatCount(status.nodes)} frames
          </span>
          {page.narrow.value ? null : (
            <span title={CLOCK_HINT}>
              clock: {clockText(status.clock)}, {formatTime(status.reading).text} a reading
            </span>
          )}
          <CostText />
          {status.switches ? null : (
            <span class="warned" title="greenlet is not in the process: each thread is one task">
              threads only
            </span>
          )}
          <LostCount status={status} />
        </>
      )}
      <span class="fill" />
      {KEYS[page.view.value].slice(0, page.narrow.value ? 2 : 4).map(([keys, does]) => (
        <Key key={keys} keys={keys}>
          {does}
        </Key>
      ))}
      <button
        type="button"
        class="key"
        onClick={() => {
          page.sheet.value = true;
        }}
      >
        <kbd>?</kbd> keys
      </button>
    </footer>
  );
}

const CLOCK_HINT =
  "Where wall time comes from, how time on the processor is known, and what one reading of both costs";

function CostText(): JSX.Element | null {
  const cost = usePage().ownCost.read();
  return cost === null ? null : (
    <span title={cost.hint} data-testid="own-cost">
      {cost.text}
    </span>
  );
}

function rateText(frozen: boolean, rate: number): string {
  return frozen ? "frozen" : `${rate < 1.5 ? rate.toFixed(1) : Math.round(rate)} updates a second`;
}

function clockText(clock: string): string {
  const [wall, cpu] = clock.split("+");
  return [wall === "tsc" ? "counter" : wall, cpu === "short" ? "short intervals" : cpu]
    .filter(Boolean)
    .join(" + ");
}

function LostCount({ status }: { status: Status }): JSX.Element {
  const { lost } = status;
  const parts = [
    [lost.events, "calls without memory for a node, counted in their caller"],
    [lost.tasks, "tasks without memory"],
    [lost.unmatched, "returns without their call"],
    [lost.displaced, "times that another tool took our hooks away"],
    [lost.slices, "long slices overwritten before they were read"],
  ] as const;
  const sum = parts.reduce((all, [count]) => all + count, 0);
  const title = parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${formatCount(count)} ${what}`)
    .join("\n");
  return (
    <span class={sum > 0 ? "warned" : ""} title={title || "Nothing was shed"} data-testid="lost">
      lost {sum === 0 ? "0" : formatCount(sum)}
    </span>
  );
}

function Key({ keys, children }: { keys: string; children: ComponentChildren }): JSX.Element {
  return (
    <span class="key">
      <kbd>{keys}</kbd> {children}
    </span>
  );
}
