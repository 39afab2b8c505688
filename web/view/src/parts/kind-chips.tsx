import type { Kind, Times } from "@flamelet/model";
import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { Swatch } from "./marks.tsx";
import { Time } from "./quantity.tsx";

const HINTS: Readonly<Record<Kind, string>> = {
  cpu: "On the processor (C). Alt click: only this.",
  blocked:
    "Had its thread, yet was not on the processor: a blocking call, or waiting for the GIL (B). Alt click: only this.",
  waited: "Parked, while other tasks ran (W). Alt click: only this.",
  idle: "The hub, waiting for events. Alt click: only this.",
};

/** The one control of what is counted: widths in Flame, bars in Tasks and Table, shares in the inspector. */
export function KindChips({ times, only }: { times?: Times; only?: readonly Kind[] }): JSX.Element {
  const page = usePage();
  const kinds = page.kinds.value;
  const shown = only ?? (["cpu", "blocked", "waited", "idle"] as const);
  return (
    <>
      {shown.map((kind) => (
        <button
          key={kind}
          type="button"
          class="kind"
          data-testid={`kind-${kind}`}
          aria-pressed={kinds[kind]}
          title={HINTS[kind]}
          onClick={(event) => page.toggleKind(kind, event.altKey)}
        >
          <Swatch kind={kind} />
          {kind}
          {times === undefined ? null : <Time ns={times[kind]} prose />}
        </button>
      ))}
    </>
  );
}
