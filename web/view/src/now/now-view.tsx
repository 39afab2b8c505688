import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { hubRows } from "../state/selectors.ts";
import { CulpritLine } from "./culprit-line.tsx";
import { GilWaits } from "./gil-waits.tsx";
import { Held, Latest } from "./held.tsx";
import { Holds } from "./holds.tsx";
import { HubCard } from "./hub-card.tsx";
import { HasHub, WaitsFor, WaitsLongest } from "./lists.tsx";

/** How the process does at this moment, and who is to blame. */
export function NowView(): JSX.Element {
  const page = usePage();
  const report = page.report();
  const rows = hubRows(page);
  return (
    <div class="now" data-testid="now">
      <CulpritLine report={report} />
      <div class={`hub-cards n${Math.min(rows.length, 3)}`}>
        {rows.map((row) => (
          <HubCard key={page.store.threads.id[row]} row={row} report={report} />
        ))}
      </div>
      <div class="now-left">
        <Held report={report} />
        <Holds />
        <Latest report={report} />
      </div>
      <div class="now-right">
        <HasHub report={report} />
        <GilWaits />
        <WaitsLongest />
        <WaitsFor />
      </div>
    </div>
  );
}
