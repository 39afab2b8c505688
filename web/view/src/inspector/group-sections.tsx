import { formatCount } from "@flamelet/model";
import type { JSX } from "preact";
import { KeyButton } from "../parts/key-button.tsx";
import { ALL_KINDS, Bar, KindHead } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import { countedTime } from "../state/task-rows.ts";
import { Facts } from "./numbers.tsx";

/** A group of tasks: the sums of all that were ever in it. `group` is -1 when tasks are grouped by something else. */
export function GroupSections(props: { groupKey: string; group: number; title: string }): JSX.Element {
  const page = usePage();
  const { groups } = page.store;
  const { group, groupKey, title } = props;
  const open = page.unfolded.value?.has(groupKey) ?? false;
  const known = group >= 0 && groups.has(group);
  const times = known ? groups.times(group) : null;
  const kinds = page.kinds.value;
  return (
    <>
      <section>
        <h2 class="name" data-testid="inspector-name">
          {title}
        </h2>
        {known ? <p class="mid">{page.placeOf(groups.entry[group]!, 60)}</p> : null}
        <div class="actions">
          {known ? (
            <KeyButton keys="F" onClick={() => page.openFlame(group)}>
              Flame
            </KeyButton>
          ) : null}
          <KeyButton keys="Enter" onClick={() => page.toggleUnfolded("unfolded", groupKey)}>
            {open ? "Fold" : "Unfold"}
          </KeyButton>
        </div>
      </section>
      {times === null ? null : (
        <section>
          <table class="numbers">
            <tbody>
              {ALL_KINDS.filter((kind) => kind !== "idle" || times.idle > 0).map((kind) => (
                <tr key={kind} class={kinds[kind] ? "" : "dimmed"}>
                  <KindHead kind={kind} />
                  <td>
                    <Time ns={times[kind]} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <Bar times={times} kinds={kinds} full={countedTime(times, kinds)} />
          <Facts
            facts={[
              ["tasks started", formatCount(groups.started[group]!)],
              ["ended", formatCount(groups.ended[group]!)],
              ["switches", formatCount(groups.switches[group]!)],
            ]}
          />
          <p class="weak more">
            Longest slice: <Time ns={groups.longest[group]!} prose />
          </p>
        </section>
      )}
    </>
  );
}
