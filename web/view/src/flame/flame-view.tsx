import { formatCount, formatTime } from "@flamelet/model";
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Inspector } from "../inspector/inspector.tsx";
import { Choice } from "../parts/choice.tsx";
import { KindChips } from "../parts/kind-chips.tsx";
import { usePage } from "../state/context.ts";
import { FlameController } from "./controller.ts";
import { Crumbs } from "./crumbs.tsx";
import { FlameItems } from "./flame-items.tsx";
import { FlameTip } from "./flame-tip.tsx";
import { HiddenChips } from "./hidden-chips.tsx";
import { Legend } from "./legend.tsx";
import { ScopeList } from "./scope-list.tsx";
import { ScopeMenu } from "./scope-menu.tsx";

/** The flame of all tasks or of a group, with the list that chooses the scope at its left where there is room. */
export function FlameView(): JSX.Element {
  const page = usePage();
  page.refreshStats();
  const narrow = page.narrow.value;
  const list = !narrow && page.listOpen.value;
  return (
    <>
      <div class="tools">
        {narrow ? null : (
          <button
            type="button"
            class="btn icon-btn"
            data-testid="toggle-list"
            aria-pressed={list}
            title="List of groups and tasks (L)"
            aria-label="List of groups and tasks"
            onClick={() => {
              page.listOpen.value = !list;
            }}
          >
            <svg width="14" height="12" viewBox="0 0 14 12" aria-hidden="true">
              <path d="M.5.5h13v11H.5zM5.5.5v11" fill="none" stroke="currentColor" />
            </svg>
          </button>
        )}
        {list ? null : <ScopeMenu />}
        <KindChips
          times={page.tree.totalTimes(0)}
          {...(narrow ? { only: ["cpu", "blocked", "waited"] as const } : {})}
        />
        {narrow ? null : (
          <>
            <span class="rule" />
            <Choice
              label="Colour"
              value={page.colourBy.value}
              options={[
                { value: "module", title: "Module", hint: "Fill shows the module" },
                {
                  value: "kind",
                  title: "Time kind",
                  hint: "Fill shows cpu, blocked and waited of each frame",
                },
              ]}
              onChange={(value) => {
                page.colourBy.value = value;
              }}
            />
            <Choice
              label="Order"
              value={page.order.value}
              options={[
                {
                  value: "name",
                  title: "A–Z",
                  hint: "By name: frames keep their places while numbers change",
                },
                { value: "width", title: "Widest", hint: "Widest frame at the left" },
              ]}
              onChange={(value) => {
                page.order.value = value;
              }}
            />
          </>
        )}
        <HiddenChips />
      </div>
      <div class="split">
        {list ? <ScopeList /> : null}
        <div class="main">
          <div class="crumbs-row">
            <Crumbs />
            <Legend />
          </div>
          <FlameCanvas />
        </div>
        <Inspector />
      </div>
    </>
  );
}

function FlameCanvas(): JSX.Element {
  const page = usePage();
  const host = useRef<HTMLDivElement>(null);
  const [controller, setController] = useState<FlameController | null>(null);
  useLayoutEffect(() => {
    if (host.current === null) return;
    const made = new FlameController(page, host.current);
    setController(made);
    // At once: the next key may come before the next frame.
    page.flame = made;
    return () => {
      page.flame = null;
      made.dispose();
    };
  }, [page]);
  const total = page.tree.totalOf(0, page.kinds.value);
  return (
    <div class="flame">
      <div
        ref={host}
        class="canvas"
        data-testid="flame-canvas"
        role="tree"
        aria-label="Flame"
        aria-activedescendant="flame-item-selected"
        tabIndex={0}
      >
        <FlameItems />
      </div>
      {total === 0 ? (
        <div class="nothing over" data-testid="flame-empty">
          {page.tree.size <= 1
            ? "No call was seen in this scope yet."
            : "No time of the counted kinds in this scope."}
        </div>
      ) : null}
      <p class="hint weak">
        Below each frame hangs its own time: cpu solid, blocked striped and longer, waited dotted.{" "}
        {page.tree.size > 1 ? `${formatCount(page.tree.size - 1)} frames, ${formatTime(total).text}` : ""}
      </p>
      {controller === null ? null : <FlameTip controller={controller} />}
    </div>
  );
}
