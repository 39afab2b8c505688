import { formatPercent } from "@flamelet/model";
import type { JSX } from "preact";
import { Swatch } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import { gilWaitOf } from "../state/gil-wait.ts";
import { formatInstant } from "../state/selectors.ts";
import type { TimelineController } from "./controller.ts";
import { sliceTitle } from "./lanes.ts";

const WIDTH = 300;

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
  const left = Math.min(hover.x + 14, window.innerWidth - WIDTH - 8);
  const low = hover.y > window.innerHeight - 190;
  const idle = Math.max(0, length - slice.cpu - slice.blocked);
  return (
    <div
      class="tip"
      data-testid="timeline-tip"
      aria-hidden="true"
      style={{
        left: `${left}px`,
        width: `${WIDTH}px`,
        ...(low ? { bottom: `${window.innerHeight - hover.y + 12}px` } : { top: `${hover.y + 18}px` }),
      }}
    >
      <div class="strong">{sliceTitle(page, slice.task, selected?.group ?? 0)}</div>
      <div class="weak">
        {path === "" ? "" : long >= 0 ? "mostly in " : lasts ? "now in " : "switched out in "}
        {path}
      </div>
      {gil === "" ? null : <div class="is-blocked">{gil}</div>}
      <div class="tip-total">
        <Time ns={length} prose /> · {lasts ? "lasts, since" : "from"} {formatInstant(page, slice.begin)}
      </div>
      <table class="numbers">
        <tbody>
          {(
            [
              ["cpu", slice.cpu],
              ["blocked", slice.blocked],
              ["idle", idle],
            ] as const
          )
            .filter(([, ns]) => ns > 0)
            .map(([kind, ns]) => (
              <tr key={kind}>
                <th scope="row">
                  <Swatch kind={kind} /> {kind}
                </th>
                <td>
                  <Time ns={ns} />
                </td>
                <td class="weak">{formatPercent(length > 0 ? ns / length : 0).text}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}
