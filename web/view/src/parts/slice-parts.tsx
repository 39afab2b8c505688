import { formatPercent, type TimelineSlice } from "@flamelet/model";
import type { JSX } from "preact";
import { KindHead } from "./marks.tsx";
import { Time } from "./quantity.tsx";

/** How much of a slice was cpu, blocked and idle, with shares of its length; idle only where there is some. */
export function SliceParts({ slice }: { slice: TimelineSlice }): JSX.Element {
  const { cpu, blocked } = slice;
  const length = slice.end - slice.begin;
  const idle = idleOf(slice);
  const parts = [["cpu", cpu] as const, ["blocked", blocked] as const];
  return (
    <table class="numbers">
      <tbody>
        {(idle > 0 ? [...parts, ["idle", idle] as const] : parts).map(([kind, ns]) => (
          <tr key={kind}>
            <KindHead kind={kind} />
            <td>
              <Time ns={ns} />
            </td>
            <td class="weak">{formatPercent(length > 0 ? ns / length : 0).text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** ns of a slice in which its thread's loop waited for something to do. */
export function idleOf({ begin, end, cpu, blocked }: TimelineSlice): number {
  return Math.max(0, end - begin - cpu - blocked);
}
