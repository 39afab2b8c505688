import { formatCount, formatPercent } from "@flamelet/model";
import type { JSX } from "preact";
import { KeyButton, Place } from "../parts/key-button.tsx";
import { RelationRow } from "../parts/relation-row.tsx";
import { usePage } from "../state/context.ts";
import type { Page } from "../state/page.ts";
import { scopeName } from "../state/selectors.ts";
import { countedTime } from "../state/task-rows.ts";
import { CallNumbers, Facts, Seeded } from "./numbers.tsx";
import { Relations } from "./relations.tsx";

/** A frame of the flame: one function at one call path. Node 0 is the whole scope. */
export function FrameSections({ node }: { node: number }): JSX.Element {
  const page = usePage();
  const { tree, store } = page;
  const kinds = page.kinds.value;
  const fn = tree.function[node] ?? 0;
  const own = tree.ownTimes(node);
  const total = tree.totalTimes(node);
  const counted = countedTime(total, kinds);
  const whole = tree.totalOf(0, kinds);
  const parent = tree.parent[node] ?? -1;
  const caller = parent > 0 ? tree.totalOf(parent, kinds) : 0;
  const path = tree.path(node);
  return (
    <>
      <section>
        <h2 class="name" data-testid="inspector-name">
          {fn === 0 ? scopeName(page) : store.functions.qualnameOf(fn)}
        </h2>
        {fn === 0 ? (
          <p class="mid">Everything in this scope. Select a frame for its numbers.</p>
        ) : (
          <>
            <Place fn={fn} />
            <div class="actions">
              <KeyButton keys="Enter" onClick={() => page.zoomTo({ path, lo: 0, hi: 1 })}>
                Only this
              </KeyButton>
              <KeyButton keys="X" onClick={() => page.hide(fn)}>
                Hide
              </KeyButton>
            </div>
          </>
        )}
      </section>
      <section>
        <CallNumbers own={own} total={total} calls={fn === 0 ? 0 : tree.calls[node]!} kinds={kinds} />
        {fn === 0 ? null : (
          <Facts
            facts={[
              ["calls", formatCount(tree.calls[node]!)],
              ["of shown time", formatPercent(whole > 0 ? counted / whole : 0).text],
              caller > 0 ? ["of its caller here", formatPercent(counted / caller).text] : null,
            ]}
          />
        )}
        {fn === 0 ? null : <Seeded frames={tree.seeded[node]!} />}
      </section>
      {fn === 0 ? (
        <Entries page={page} />
      ) : (
        <Relations
          fn={fn}
          whole={counted}
          onFunction={(other, as) => {
            const near = as === "callee" ? [...path, other] : path.slice(0, -1);
            const there = near[near.length - 1] === other && tree.findPath(near) >= 0;
            page.selection.value = there ? { kind: "frame", path: near } : { kind: "function", fn: other };
          }}
        />
      )}
    </>
  );
}

/** What the root calls: the entry functions. */
function Entries({ page }: { page: Page }): JSX.Element {
  const { tree, store } = page;
  const kinds = page.kinds.value;
  const whole = tree.totalOf(0, kinds);
  const entries = [...tree.children(0)].sort((a, b) => tree.totalOf(b, kinds) - tree.totalOf(a, kinds));
  return (
    <section>
      <div class="relations">
        <h3>
          Entry functions <span class="weak">{formatCount(entries.length)}</span>
        </h3>
        {entries.slice(0, 12).map((child) => {
          const fn = tree.function[child]!;
          return (
            <RelationRow
              key={child}
              token={page.colours.token(page.modules.of(fn))}
              name={store.functions.qualnameOf(fn)}
              place={store.functions.placeOf(fn)}
              times={tree.totalTimes(child)}
              kinds={kinds}
              whole={whole}
              onClick={() => {
                page.selection.value = { kind: "frame", path: tree.path(child) };
              }}
            />
          );
        })}
      </div>
    </section>
  );
}
