import type { JSX } from "preact";
import { KeyButton } from "../parts/key-button.tsx";
import { Bar } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { idleOf, SliceParts } from "../parts/slice-parts.tsx";
import { usePage } from "../state/context.ts";
import { gilWaitOf } from "../state/gil-wait.ts";
import type { SelectedSlice } from "../state/page.ts";
import { formatInstant } from "../state/selectors.ts";
import { Facts } from "./numbers.tsx";

/** A slice of the timeline: how long a task had its thread, and where it was at the end. */
export function SliceSections({ slice }: { slice: SelectedSlice }): JSX.Element {
  const page = usePage();
  const { threads } = page.store;
  const length = slice.end - slice.begin;
  const path = page.pathEnd(slice.path);
  const long = slice.lasts ? -1 : page.longSlice(slice);
  const mostly = long < 0 ? "" : page.pathEnd(page.store.nodes.path(page.store.slices.node[long]!));
  const gil = long < 0 ? "" : gilWaitOf(page.store, long);
  return (
    <section data-testid="slice">
      <h3>
        Slice of <Time ns={length} prose /> <span class="weak">{threads.called(slice.thread)}</span>
      </h3>
      {mostly === "" ? null : (
        <p class="mid">
          mostly in <b class="strong">{mostly}</b>
        </p>
      )}
      {gil === "" ? null : <p class="is-blocked">{gil}</p>}
      <p class="weak">
        {slice.lasts ? "now in " : "switched out in "}
        {path || "no function"}
      </p>
      <SliceParts slice={slice} />
      <Bar
        times={{ cpu: slice.cpu, blocked: slice.blocked, idle: idleOf(slice), waited: 0 }}
        kinds={{ cpu: true, blocked: true, idle: true, waited: false }}
        full={length}
      />
      <Facts
        facts={[
          ["began", formatInstant(page, slice.begin)],
          [slice.lasts ? "seen up to" : "ended", formatInstant(page, slice.end)],
        ]}
      />
      <div class="actions">
        <KeyButton keys="Z" onClick={() => page.timeline?.fit()}>
          Fit
        </KeyButton>
        <KeyButton keys="N" onClick={() => page.timeline?.step(1, page.threshold())}>
          Next long
        </KeyButton>
      </div>
    </section>
  );
}
