import { formatTime } from "@flamelet/model";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { spanOf } from "../canvas/time-window.ts";
import { Inspector } from "../inspector/inspector.tsx";
import { Choice } from "../parts/choice.tsx";
import { Swatch } from "../parts/marks.tsx";
import { usePage } from "../state/context.ts";
import { formatInstant, isOver } from "../state/selectors.ts";
import { TimelineController } from "./controller.ts";
import { lostText } from "./lanes.ts";
import { TimelineItems } from "./timeline-items.tsx";
import { TimelineTip } from "./timeline-tip.tsx";

const SPANS = [60e9, 10e9, 1e9, 100e6] as const;

/** Who had each hub when: every slice of the last seconds. */
export function TimelineView(): JSX.Element {
  const page = usePage();
  const host = useRef<HTMLDivElement>(null);
  const [controller, setController] = useState<TimelineController | null>(null);
  // Slices are many: they are asked for only while somebody looks.
  useEffect(() => {
    page.host.watchTimeline(true);
    return () => page.host.watchTimeline(false);
  }, [page]);
  useLayoutEffect(() => {
    if (host.current === null) return;
    const made = new TimelineController(page, host.current);
    page.timeline = made;
    setController(made);
    return () => {
      page.timeline = null;
      made.dispose();
    };
  }, [page]);
  return (
    <>
      <Tools controller={controller} />
      <div class="split">
        <div class="main timeline">
          <div
            class="canvas"
            ref={host}
            data-testid="timeline-canvas"
            role="listbox"
            aria-label="Timeline, longest slices in sight"
            tabIndex={0}
          >
            <TimelineItems />
          </div>
          {controller === null ? null : <TimelineTip controller={controller} />}
          <p class="hint weak">
            Height of a slice: blocked (striped) over cpu; free above both: idle. Wheel zooms, drag pans,
            Shift and wheel too.
          </p>
        </div>
        <Inspector />
      </div>
    </>
  );
}

function Tools({ controller }: { controller: TimelineController | null }): JSX.Element {
  const page = usePage();
  const { store } = page;
  const window = page.timeWindow.value;
  const { from, to } = spanOf(window, store.now);
  const follows = window.end === null;
  const { lost } = store.timeline;
  const narrow = page.narrow.value;
  const closest = SPANS.find((span) => span === window.span);
  return (
    <div class="tools">
      <Choice
        label="Window"
        value={closest === undefined ? "" : String(closest)}
        options={SPANS.map((span) => ({ value: String(span), title: spanText(span) }))}
        onChange={(value) => {
          const span = Number(value);
          const at = page.slice.value === null ? window.end : page.slice.value.begin + span / 2;
          page.timeWindow.value = { end: follows || at === null || at >= store.now ? null : at, span };
        }}
      />
      <button
        type="button"
        class="btn line"
        data-testid="timeline-follow"
        aria-pressed={follows}
        disabled={follows}
        title="Show what happens now (Esc)"
        onClick={() => {
          page.timeWindow.value = { ...window, end: null };
        }}
      >
        {isOver(page) ? "To the end" : follows ? "Follows now" : "Follow now"}
      </button>
      <span class="rule" />
      <button
        type="button"
        class="btn"
        title="Previous long slice (Shift N)"
        onClick={() => controller?.step(-1, page.threshold())}
      >
        ‹
      </button>
      <span class="mid">long slices</span>
      <button
        type="button"
        class="btn"
        title="Next long slice (N)"
        onClick={() => controller?.step(1, page.threshold())}
      >
        ›
      </button>
      <span class="rule" />
      <span class="weak" data-testid="timeline-range">
        {narrow ? "" : `${formatInstant(page, Math.max(0, from))} to ${formatInstant(page, to)}, `}
        {formatTime(to - from).text}
      </span>
      <span class="fill" />
      {lost > 0 ? (
        <span
          class="warned"
          data-testid="timeline-lost"
          title="Slices that were overwritten before they were read; where they were, the lane is hatched"
        >
          {lostText(lost)}
        </span>
      ) : null}
      {narrow ? null : (
        <>
          <span class="mid">
            <Swatch kind="cpu" /> cpu
          </span>
          <span class="mid">
            <Swatch kind="blocked" /> blocked
          </span>
        </>
      )}
    </div>
  );
}

function spanText(span: number): string {
  return span >= 1e9 ? `${span / 1e9}\u202fs` : `${span / 1e6}\u202fms`;
}
