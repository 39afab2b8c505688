import { formatCount } from "@flamelet/model";
import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { EVERYTHING, ON_HUBS } from "../state/page.ts";
import { nameOfScope } from "../state/selectors.ts";

/** Chooses the scope where there is no room for the list. */
export function ScopeMenu(): JSX.Element {
  const page = usePage();
  const { groups, tasks } = page.store;
  const ids: number[] = [];
  for (let id = 0; id < groups.size; id++) if (groups.has(id)) ids.push(id);
  const time = (id: number): number => groups.cpu[id]! + groups.blocked[id]!;
  const apart = page.groupHubs.apart() !== null;
  ids.sort((a, b) => time(b) - time(a));
  return (
    <select
      class="menu-select"
      data-testid="scope-menu"
      aria-label="Whose calls"
      value={String(page.scope.value)}
      onChange={(event) => page.setScope(Number(event.currentTarget.value))}
    >
      <option value={String(ON_HUBS)}>
        {nameOfScope(page, ON_HUBS)}
        {apart ? "" : `, ${formatCount(tasks.size)}`}
      </option>
      {apart ? <option value={String(EVERYTHING)}>{nameOfScope(page, EVERYTHING)}</option> : null}
      {ids.map((id) => (
        <option key={id} value={String(id)}>
          {page.groupName(id)}, {formatCount(groups.started[id]! - groups.ended[id]!)}
        </option>
      ))}
    </select>
  );
}
