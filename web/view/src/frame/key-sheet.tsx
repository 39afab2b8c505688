import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { usePage } from "../state/context.ts";
import { KEY_SHEET } from "../state/keys.ts";

/** All keys in a dialog. */
export function KeySheet(): JSX.Element {
  const page = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  const open = page.sheet.value;
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (open && !element.open) element.showModal();
    if (!open && element.open) element.close();
  }, [open]);
  const close = (): void => {
    page.sheet.value = false;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes a dialog by itself
    <dialog
      ref={dialog}
      class="sheet"
      data-testid="keys"
      aria-label="Keys"
      onClose={close}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <h2>Keys</h2>
      <dl>
        {KEY_SHEET.map((line) => (
          <div key={line.does}>
            <dt>{line.does}</dt>
            <dd>
              {line.keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p class="weak">
        Flame: wheel scrolls, Ctrl or Alt with it zooms, Shift pans; drag pans. Tasks: the search takes words,
        for:Queue.get, state:waiting, hub:1 and &gt;1s together.
      </p>
      <button type="button" class="btn line" onClick={close}>
        Close <kbd>Esc</kbd>
      </button>
    </dialog>
  );
}
