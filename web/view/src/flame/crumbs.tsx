import type { JSX } from "preact";
import { crumbsShown } from "../canvas/cut.ts";
import { usePage } from "../state/context.ts";
import { WHOLE } from "../state/page.ts";
import { firstRow, scopeName } from "../state/selectors.ts";

/** Where the zoom stands: the scope, and the path to the frame that fills the width. Each part zooms out to itself. */
export function Crumbs(): JSX.Element {
  const page = usePage();
  const { functions } = page.store;
  const { path, lo, hi } = page.zoom.value;
  const root = scopeName(page);
  const names = path.map((fn) => functions.qualnameOf(fn));
  const shown = crumbsShown(names, firstRow(page), (page.narrow.value ? 70 : 92) - root.length);
  return (
    <nav class="crumbs cut" data-testid="crumbs" aria-label="Zoom">
      <button
        type="button"
        class={`crumb${shown.length === 0 ? " here" : ""}`}
        onClick={() => page.zoomTo(WHOLE)}
      >
        {root}
      </button>
      {shown.map((i, k) => (
        <span key={path[i]} class="cut">
          <span class="weak"> › </span>
          {(shown[k - 1] ?? firstRow(page) - 1) !== i - 1 ? <span class="weak">… › </span> : null}
          <button
            type="button"
            class={`crumb${i === path.length - 1 ? " here" : ""}`}
            aria-current={i === path.length - 1 ? "location" : undefined}
            title={functions.placeOf(path[i]!)}
            onClick={() => page.zoomTo({ path: path.slice(0, i + 1), lo: 0, hi: 1 })}
          >
            {names[i]}
          </button>
        </span>
      ))}
      {lo > 0 || hi < 1 ? <span class="weak"> · part of its width</span> : null}
    </nav>
  );
}
