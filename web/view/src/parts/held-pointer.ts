import { useMemo } from "preact/hooks";

/** After the pointer left, an order may change again only when nobody is about to come back for a click. */
const SETTLE = 1000;

export interface HeldPointer {
  onPointer: (inside: boolean) => void;
  /** An order that changes by itself must wait. */
  held: () => boolean;
}

export function useHeldPointer(): HeldPointer {
  return useMemo(() => {
    let inside = false;
    let left = Number.NEGATIVE_INFINITY;
    return {
      onPointer: (now: boolean) => {
        inside = now;
        if (!now) left = performance.now();
      },
      held: () => inside || performance.now() - left < SETTLE,
    };
  }, []);
}
