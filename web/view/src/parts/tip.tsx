import type { ComponentChildren, JSX } from "preact";

const WIDTH = 300;
/** px above the window's lower edge from where on a tip stands above the pointer; none is taller. */
const TALLEST = 190;

/** What lies under the pointer, beside the pointer; `x` and `y` in the window's CSS pixels. */
export function Tip(props: {
  x: number;
  y: number;
  testid?: string;
  children: ComponentChildren;
}): JSX.Element {
  const { x, y } = props;
  const left = Math.min(x + 14, window.innerWidth - WIDTH - 8);
  const low = y > window.innerHeight - TALLEST;
  return (
    <div
      class="tip"
      data-testid={props.testid}
      aria-hidden="true"
      style={{
        left: `${left}px`,
        width: `${WIDTH}px`,
        ...(low ? { bottom: `${window.innerHeight - y + 12}px` } : { top: `${y + 18}px` }),
      }}
    >
      {props.children}
    </div>
  );
}
