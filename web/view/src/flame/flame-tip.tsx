import { formatCount, formatPercent } from "@flamelet/model";
import type { JSX } from "preact";
import { ALL_KINDS, KindHead } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { Tip } from "../parts/tip.tsx";
import { usePage } from "../state/context.ts";
import { scopeName, seededText } from "../state/selectors.ts";
import type { FlameController } from "./controller.ts";

/** What the frame under the pointer is, beside the pointer. */
export function FlameTip({ controller }: { controller: FlameController }): JSX.Element | null {
  const page = usePage();
  const hover = controller.hover.value;
  if (hover === null || hover.node >= page.tree.size) return null;
  const { tree, store } = page;
  const kinds = page.kinds.value;
  const fn = tree.function[hover.node]!;
  const own = tree.ownTimes(hover.node);
  const total = tree.totalTimes(hover.node);
  const whole = tree.totalOf(0, kinds);
  const counted = tree.totalOf(hover.node, kinds);
  const seeded = seededText(tree.seeded[hover.node]!);
  return (
    <Tip x={hover.x} y={hover.y}>
      <div class="strong">{fn === 0 ? scopeName(page) : store.functions.qualnameOf(fn)}</div>
      <div class="mono weak">{page.placeOf(fn, 44)}</div>
      <div class="tip-total">
        <Time ns={counted} prose /> · {formatPercent(whole > 0 ? counted / whole : 0).text}
        {fn === 0 ? "" : ` · ${callsText(tree.calls[hover.node]!)}`}
      </div>
      {seeded === "" ? null : <div class="weak">{seeded}</div>}
      <table class="numbers">
        <tbody>
          {ALL_KINDS.filter((kind) => total[kind] > 0).map((kind) => (
            <tr key={kind} class={kinds[kind] ? "" : "dimmed"}>
              <KindHead kind={kind} />
              <td>
                <Time ns={total[kind]} />
              </td>
              <td class="weak">
                own <Time ns={own[kind]} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Tip>
  );
}

function callsText(calls: number): string {
  return calls === 0 ? "no call" : `${formatCount(calls)} ${calls === 1 ? "call" : "calls"}`;
}
