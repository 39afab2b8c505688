/** The parts of `document` that say whether anybody looks. */
export interface Sight {
  readonly visibilityState: string;
  addEventListener(type: "visibilitychange", listener: () => void): void;
  removeEventListener(type: "visibilitychange", listener: () => void): void;
}

/** Does something every `period` ms while the page is in sight, and at once when it comes into sight. Returns what ends it. */
export function whileVisible(sight: Sight, period: number, act: () => void): () => void {
  let timer: ReturnType<typeof setInterval> | undefined;
  const look = (): void => {
    clearInterval(timer);
    timer = sight.visibilityState === "visible" ? setInterval(act, period) : undefined;
  };
  const changed = (): void => {
    look();
    if (timer !== undefined) act();
  };
  sight.addEventListener("visibilitychange", changed);
  look();
  return () => {
    clearInterval(timer);
    sight.removeEventListener("visibilitychange", changed);
  };
}
