import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Draw, Surface } from "../canvas/surface.ts";

/** A canvas that fills its box and paints with the latest `draw` whenever `version` changes. */
export function Canvas(props: {
  class?: string;
  testid?: string;
  draw: Draw;
  version: unknown;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const draw = useRef(props.draw);
  draw.current = props.draw;
  const surface = useRef<Surface | null>(null);
  useLayoutEffect(() => {
    if (host.current === null) return;
    const made = new Surface(host.current, (g, width, height) => draw.current(g, width, height));
    surface.current = made;
    return () => made.dispose();
  }, []);
  useEffect(() => surface.current?.invalidate(), [props.version]);
  return <div ref={host} class={`canvas ${props.class ?? ""}`} data-testid={props.testid} />;
}
