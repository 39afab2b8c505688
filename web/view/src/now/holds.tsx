import { formatCount } from "@flamelet/model";
import type { JSX } from "preact";
import { Bar, HUB_KINDS, ModuleSwatch } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";

const MOST = 6;

/** Which functions had a hub longest without a switch, since the start: what the two minutes above have forgotten too. */
export function Holds(): JSX.Element | null {
  const page = usePage();
  const { holds, functions, threads } = page.store;
  const ids = holds.ids();
  if (ids.length === 0) return null;
  const full = holds.longest[ids[0]!]!;
  return (
    <section class="card" data-testid="holds">
      <h3>
        Longest without a switch <span class="weak">by function, since the start</span>
      </h3>
      {ids.slice(0, MOST).map((id) => {
        const fn = holds.function[id]!;
        const [cpu, blocked] = [holds.cpu[id]!, holds.blocked[id]!];
        const scale = holds.longest[id]! / (cpu + blocked || 1);
        return (
          <button
            key={id}
            type="button"
            class="held entry"
            data-testid="holds-row"
            disabled={fn === 0}
            title={
              fn === 0 ? "Functions without a row of their own" : `${functions.placeOf(fn)}\nOpens in Flame`
            }
            onClick={() => page.openFunctionFlame(fn)}
          >
            <span class="path cut">
              {fn === 0 ? (
                <span class="weak">all others</span>
              ) : (
                <>
                  <ModuleSwatch token={page.colours.token(page.modules.of(fn))} />{" "}
                  <b class="strong">{functions.qualnameOf(fn)}</b>{" "}
                  <span class="mono weak">{page.placeOf(fn, 30)}</span>
                </>
              )}
            </span>
            <span class="weak when">{threads.called(holds.thread[id]!)}</span>
            <span class="times">{formatCount(holds.count[id]!)}</span>
            <span class="longest">
              <Time ns={holds.longest[id]!} />
            </span>
            <span class="bar-cell">
              <Bar
                times={{ cpu: cpu * scale, blocked: blocked * scale, idle: 0, waited: 0 }}
                kinds={HUB_KINDS}
                full={full}
              />
            </span>
            <span class="sum">
              <Time ns={cpu + blocked} />
            </span>
          </button>
        );
      })}
      {ids.length > MOST ? (
        <p class="weak more">{formatCount(ids.length - MOST)} more, none of which held a hub as long</p>
      ) : null}
    </section>
  );
}
