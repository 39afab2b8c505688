import type { ComponentChildren, JSX } from "preact";
import { usePage } from "../state/context.ts";

/** A button that names the key that does the same. */
export function KeyButton(props: {
  keys: string;
  onClick: () => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <button type="button" class="btn line" onClick={props.onClick}>
      {props.children} <kbd>{props.keys}</kbd>
    </button>
  );
}

/** File and line of a function, whole in its title; a click copies it. */
export function Place({ fn }: { fn: number }): JSX.Element | null {
  const page = usePage();
  const whole = page.store.functions.placeOf(fn);
  if (whole === "") return <p class="weak">made of C, without a file</p>;
  return (
    <button
      type="button"
      class="mono mid place link"
      title={`${whole}\nClick to copy`}
      // Without permission nothing happens: the whole path stands in the title.
      onClick={() => void navigator.clipboard?.writeText(whole).catch(() => undefined)}
    >
      {page.placeOf(fn, 46)}
    </button>
  );
}
