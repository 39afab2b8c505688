import type { JSX } from "preact";

/** Folds a group's row. Not in the tab order: the arrow keys do the same for the selected row. */
export function Twisty({ open, onToggle }: { open: boolean; onToggle: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class="twisty"
      tabIndex={-1}
      aria-label={open ? "Fold" : "Unfold"}
      onClick={(event) => {
        // The row is not selected by it.
        event.stopPropagation();
        onToggle();
      }}
    >
      {open ? "▾" : "▸"}
    </button>
  );
}
