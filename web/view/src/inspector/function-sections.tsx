import { formatCount, formatPercent, type Times } from "@flamelet/model";
import type { JSX } from "preact";
import { KeyButton, Place } from "../parts/key-button.tsx";
import { usePage } from "../state/context.ts";
import { countedTime } from "../state/task-rows.ts";
import { CallNumbers, Facts, Seeded } from "./numbers.tsx";
import { Relations } from "./relations.tsx";

/** A function wherever it is called in the scope; each moment counts once under recursion. */
export function FunctionSections({ fn }: { fn: number }): JSX.Element {
  const page = usePage();
  const { tree, store } = page;
  page.refreshStats();
  const { stats } = page;
  const kinds = page.kinds.value;
  const times = (table: typeof stats.own): Times => ({
    cpu: table.cpu[fn] ?? 0,
    blocked: table.blocked[fn] ?? 0,
    idle: table.idle[fn] ?? 0,
    waited: table.waited[fn] ?? 0,
  });
  const own = times(stats.own);
  const total = times(stats.total);
  const counted = countedTime(total, kinds);
  const whole = tree.totalOf(0, kinds);
  return (
    <>
      <section>
        <h2 class="name" data-testid="inspector-name">
          {store.functions.qualnameOf(fn)}
        </h2>
        <Place fn={fn} />
        <div class="actions">
          <KeyButton keys="F" onClick={() => page.openFunctionFlame(fn)}>
            Flame
          </KeyButton>
          <KeyButton keys="X" onClick={() => page.hide(fn)}>
            Hide
          </KeyButton>
        </div>
      </section>
      <section>
        <CallNumbers own={own} total={total} calls={stats.calls[fn] ?? 0} kinds={kinds} />
        <Facts
          facts={[
            ["calls", formatCount(stats.calls[fn] ?? 0)],
            ["of shown time", formatPercent(whole > 0 ? counted / whole : 0).text],
            ["own, of shown", formatPercent(whole > 0 ? countedTime(own, kinds) / whole : 0).text],
          ]}
        />
        <Seeded frames={stats.seeded[fn] ?? 0} />
      </section>
      <Relations
        fn={fn}
        whole={counted}
        onFunction={(other) => {
          page.selection.value = { kind: "function", fn: other };
        }}
      />
    </>
  );
}
