import type { JSX } from "preact";
import { Time } from "../parts/quantity.tsx";
import { SliceParts } from "../parts/slice-parts.tsx";
import { Tip } from "../parts/tip.tsx";
import { usePage } from "../state/context.ts";
import { gilWaitOf } from "../state/gil-wait.ts";
import { formatInstant } from "../state/selectors.ts";
import type { TimelineController } from "./controller.ts";
import { sliceTitle } from "./lanes.ts";

/** What the slice under the pointer is, beside the pointer. */
export function TimelineTip({ controller }: { controller: TimelineController }): JSX.Element | null {
  const page = usePage();
  const hover = controller.hover.value;
  if (hover === null) return null;
  const { lane, slice } = hover;
  const slices = lane.slices;
  const lasts = slice.row < 0;
  const length = slice.end - slice.begin;
  // Rows move when the oldest are dropped: the slice is known by where it begins.
  const row = lasts || slices === undefined ? -1 : slices.rowAt(slice.begin);
  const selected = row < 0 ? page.lastingSlice(lane.thread) : page.sliceOf(lane.thread, row);
  const long = lasts ? -1 : page.longSlice({ ...slice, thread: lane.thread });
  const path = page.pathEnd(
    long < 0 ? (selected?.path ?? []) : page.store.nodes.path(page.store.slices.node[long]!),
  );
  const gil = long < 0 ? "" : gilWaitOf(page.store, long);
  return (
    <Tip x={hover.x} y={hover.y} testid="timeline-tip">
      <div class="strong">{sliceTitle(page, slice.task, selected?.group ?? 0)}</div>
      <div class="weak">
        {path === "" ? "" : long >= 0 ? "mostly in " : lasts ? "now in " : "switched out in "}
        {path}
      </div>
      {gil === "" ? null : <div class="is-blocked">{gil}</div>}
      <div class="tip-total">
        <Time ns={length} prose /> · {lasts ? "lasts, since" : "from"} {formatInstant(page, slice.begin)}
      </div>
      <SliceParts slice={slice} />
    </Tip>
  );
}
