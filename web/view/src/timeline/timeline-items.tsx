import { formatTime } from "@flamelet/model";
import type { JSX } from "preact";
import { spanOf } from "../canvas/time-window.ts";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import type { Page, SelectedSlice } from "../state/page.ts";
import { formatInstant, hubRows } from "../state/selectors.ts";
import { sliceTitle } from "./lanes.ts";

const MOST = 14;

/** The longest slices in sight in words, for those who cannot see the canvas: "report #12, 180 ms from 10:20:29.813". */
export function TimelineItems(): JSX.Element {
  const page = usePage();
  const chosen = page.slice.value;
  return (
    <div class="unseen" data-testid="timeline-items">
      {longest(page).map((slice) => (
        <div
          key={`${slice.thread} ${slice.begin}`}
          role="option"
          tabIndex={-1}
          aria-selected={chosen?.thread === slice.thread && chosen.begin === slice.begin}
        >
          {sliceTitle(page, slice.task, slice.group)}, {formatTime(slice.cpu + slice.blocked).text} from{" "}
          {formatInstant(page, slice.begin)}
          {slice.path.length === 0 ? "" : `, ${page.pathEnd(slice.path)}`}
        </div>
      ))}
    </div>
  );
}

/** The same beside the canvas, while nothing is selected: each shows its slice. */
export function LongestSlices(): JSX.Element {
  const page = usePage();
  const slices = longest(page);
  return (
    <section data-testid="longest-slices">
      <h3>
        Longest in sight <span class="weak">or click a slice</span>
      </h3>
      {slices.length === 0 ? <p class="weak">No slice is in sight.</p> : null}
      {slices.map((slice) => (
        <button
          key={`${slice.thread} ${slice.begin}`}
          type="button"
          class="relation"
          title={page.pathEnd(slice.path)}
          onClick={() => page.chooseSlice(slice)}
        >
          <span class="fill cut">{sliceTitle(page, slice.task, slice.group)}</span>
          <span class="weak nowrap">{formatInstant(page, slice.begin)}</span>
          <span class="value">
            <Time ns={slice.cpu + slice.blocked} />
          </span>
        </button>
      ))}
    </section>
  );
}

/** By their time on and off the processor: a hub that polls is not long. */
function longest(page: Page): SelectedSlice[] {
  const { threads, timeline, now } = page.store;
  const { from, to } = spanOf(page.timeWindow.value, now);
  const found: { thread: number; row: number; busy: number }[] = [];
  for (const at of hubRows(page)) {
    const thread = threads.id[at]!;
    const slices = timeline.of(thread);
    if (slices === undefined) continue;
    for (let row = slices.firstAfter(from); row < slices.size && slices.begin[row]! < to; row++) {
      const busy = slices.cpu(row) + slices.blocked[row]!;
      if (busy === 0 || (found.length === MOST && busy <= found[MOST - 1]!.busy)) continue;
      found.push({ thread, row, busy });
      found.sort((a, b) => b.busy - a.busy);
      found.length = Math.min(found.length, MOST);
    }
  }
  return found.flatMap(({ thread, row }) => page.sliceOf(thread, row) ?? []);
}
