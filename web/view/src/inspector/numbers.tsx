import { formatCount, type Kinds, type Times } from "@flamelet/model";
import type { JSX } from "preact";
import { ALL_KINDS, Bar, KindHead } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { seededText } from "../state/selectors.ts";
import { countedTime } from "../state/task-rows.ts";

/** Own, total and per call by kind, and their sum over the counted kinds. */
export function CallNumbers(props: { own: Times; total: Times; calls: number; kinds: Kinds }): JSX.Element {
  const { own, total, calls, kinds } = props;
  const shown = ALL_KINDS.filter((kind) => kind !== "idle" || kinds.idle || total.idle > 0);
  const sum = countedTime(total, kinds);
  return (
    <>
      <table class="numbers">
        <thead>
          <tr>
            <td />
            <th scope="col">own</th>
            <th scope="col">total</th>
            <th scope="col">per call</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((kind) => (
            <tr key={kind} class={kinds[kind] ? "" : "dimmed"}>
              <KindHead kind={kind} />
              <td data-testid={`own-${kind}`}>
                <Time ns={own[kind]} />
              </td>
              <td data-testid={`total-${kind}`}>
                <Time ns={total[kind]} />
              </td>
              <td>
                <Time ns={calls > 0 ? total[kind] / calls : 0} />
              </td>
            </tr>
          ))}
          <tr class="sum">
            <th scope="row" title="Sum of the kinds that are counted">
              counted
            </th>
            <td>
              <Time ns={countedTime(own, kinds)} />
            </td>
            <td>
              <Time ns={sum} />
            </td>
            <td>
              <Time ns={calls > 0 ? sum / calls : 0} />
            </td>
          </tr>
        </tbody>
      </table>
      <Bar times={total} kinds={kinds} full={sum} />
    </>
  );
}

/** "3 entered before the start", where there are such frames. */
export function Seeded({ frames }: { frames: number }): JSX.Element | null {
  const text = seededText(frames);
  return text === "" ? null : (
    <p
      class="weak more"
      data-testid="seeded"
      title="Frames that were on a stack when profiling started: they have times, and count no call"
    >
      {text}
    </p>
  );
}

/** A few named numbers in a row. */
export function Facts({ facts }: { facts: readonly (readonly [string, string] | null)[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map((fact) =>
        fact === null ? null : (
          <div key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

export { formatCount };
