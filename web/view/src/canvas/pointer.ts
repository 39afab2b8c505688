// Pointer and wheel over a canvas: what is a click, what a drag, and how far a wheel turned.

/** px a pressed pointer moves before it drags: a hand that clicks trembles. */
const DRAG_FROM = 4;

export interface PointerTarget {
  /** Whether a movement to both sides drags, or only one along the x axis: the other is then a click that slipped. */
  readonly drags: "xy" | "x";
  /** The pressed pointer went by so many px since the last call. */
  drag(dx: number, dy: number): void;
  /** The main button was pressed and let go at the same place. */
  click(event: PointerEvent): void;
  /** The pointer moves and nothing is pressed. */
  hover(event: PointerEvent): void;
  leave(): void;
  /** By px: a wheel that counts lines is turned into them. The event is taken: the page does not scroll. */
  wheel(event: WheelEvent, dx: number, dy: number): void;
}

/** Tells `target` of what happens over `host`; `line` px are a line of its wheel. Returns what ends it. */
export function followPointer(host: HTMLElement, line: number, target: PointerTarget): () => void {
  const listening = new AbortController();
  let pressed: { x: number; y: number; moved: boolean } | null = null;
  const on = <K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void,
  ): void => {
    host.addEventListener(type, listener, { passive: false, signal: listening.signal });
  };
  on("pointerdown", (event) => {
    if (event.button === 0) pressed = { x: event.clientX, y: event.clientY, moved: false };
  });
  on("pointermove", (event) => {
    if (pressed === null) {
      target.hover(event);
      return;
    }
    const dx = event.clientX - pressed.x;
    const dy = event.clientY - pressed.y;
    if (!pressed.moved) {
      if (Math.hypot(dx, target.drags === "xy" ? dy : 0) < DRAG_FROM) return;
      host.setPointerCapture(event.pointerId);
    }
    pressed = { x: event.clientX, y: event.clientY, moved: true };
    target.drag(dx, dy);
  });
  on("pointerup", (event) => {
    const click = event.button === 0 && pressed !== null && !pressed.moved;
    pressed = null;
    if (click) target.click(event);
  });
  on("pointercancel", () => {
    pressed = null;
  });
  on("pointerleave", () => target.leave());
  on("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? line : 1;
    target.wheel(event, event.deltaX * unit, event.deltaY * unit);
  });
  return () => listening.abort();
}
