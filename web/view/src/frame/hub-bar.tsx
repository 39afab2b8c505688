import type { JSX } from "preact";
import { HubState, HubStrip } from "../now/hub-card.tsx";
import { usePage } from "../state/context.ts";
import { hubRows, hubTitle } from "../state/selectors.ts";

/** The hubs above every view but Now, which shows them large. */
export function HubBar(): JSX.Element | null {
  const page = usePage();
  const rows = hubRows(page);
  if (rows.length === 0) return null;
  const most = page.narrow.value ? 2 : 3;
  const report = page.report();
  return (
    <nav class="hubs" aria-label="Hubs, last two minutes" data-testid="hub-bar">
      {rows.slice(0, most).map((row) => {
        const title = hubTitle(page, row);
        const thread = page.store.threads.nameOf(row);
        return (
          <button key={row} type="button" title="Opens Now" onClick={() => page.show("now")}>
            <span class="label cut">
              <b class="strong">{title}</b>{" "}
              {page.narrow.value || thread === title ? null : <span class="weak">{thread}</span>}
            </span>
            <HubStrip thread={page.store.threads.id[row]!} />
            <span class="state cut">
              <HubState row={row} report={report} />
            </span>
          </button>
        );
      })}
      {rows.length > most ? (
        <button type="button" class="more" onClick={() => page.show("now")}>
          +{rows.length - most}
        </button>
      ) : null}
    </nav>
  );
}
