import type { JSX } from "preact";
import { ModuleSwatch } from "../parts/marks.tsx";
import { usePage } from "../state/context.ts";

const MOST = 7;

/** Which colour is which module: own code first, libraries by their own time, then event loop and standard library. */
export function Legend(): JSX.Element | null {
  const page = usePage();
  if (page.narrow.value || page.colourBy.value !== "module") return null;
  const { own, ids } = page.stats;
  const kinds = page.kinds.value;
  const entries = new Map<string, { name: string; time: number }>();
  for (const fn of ids) {
    const module = page.modules.of(fn);
    const token = page.colours.token(module);
    const name = token === "std" ? "stdlib, C" : module.name;
    const time =
      (kinds.cpu ? own.cpu[fn]! : 0) +
      (kinds.blocked ? own.blocked[fn]! : 0) +
      (kinds.waited ? own.waited[fn]! : 0);
    const known = entries.get(token);
    if (known === undefined) entries.set(token, { name, time });
    else {
      known.time += time;
      if (token === "own" && known.name !== name) known.name = "own code";
    }
  }
  const fixed = ["own", "loop", "std"];
  const libs = [...entries.keys()]
    .filter((token) => !fixed.includes(token))
    .sort((a, b) => entries.get(b)!.time - entries.get(a)!.time)
    .slice(0, MOST);
  const shown = ["own", ...libs, "loop", "std"].filter((token) => entries.has(token));
  return (
    <div class="legend" aria-hidden="true">
      {shown.map((token) => (
        <span key={token}>
          <ModuleSwatch token={token} /> {entries.get(token)!.name}
        </span>
      ))}
    </div>
  );
}
