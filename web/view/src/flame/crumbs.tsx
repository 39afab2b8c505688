import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { WHOLE } from "../state/page.ts";
import { scopeName } from "../state/selectors.ts";

/** Where the zoom stands: the scope, and the path to the frame that fills the width. Each part zooms out to itself. */
export function Crumbs(): JSX.Element {
  const page = usePage();
  const { functions } = page.store;
  const { path, lo, hi } = page.zoom.value;
  // The middle of a long path says least.
  const shown = path.map((_, i) => i).filter((i) => path.length <= 6 || i < 2 || i >= path.length - 3);
  return (
    <nav class="crumbs cut" data-testid="crumbs" aria-label="Zoom">
      <button
        type="button"
        class={`crumb${path.length === 0 ? " here" : ""}`}
        onClick={() => page.zoomTo(WHOLE)}
      >
        {scopeName(page)}
      </button>
      {shown.map((i, k) => (
        <span key={path[i]} class="cut">
          <span class="weak"> › </span>
          {k > 0 && shown[k - 1] !== i - 1 ? <span class="weak">… › </span> : null}
          <button
            type="button"
            class={`crumb${i === path.length - 1 ? " here" : ""}`}
            aria-current={i === path.length - 1 ? "location" : undefined}
            title={functions.placeOf(path[i]!)}
            onClick={() => page.zoomTo({ path: path.slice(0, i + 1), lo: 0, hi: 1 })}
          >
            {functions.qualnameOf(path[i]!)}
          </button>
        </span>
      ))}
      {lo > 0 || hi < 1 ? <span class="weak"> · part of its width</span> : null}
    </nav>
  );
}
