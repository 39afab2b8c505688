// Which stretch of time a timeline shows, and how pointer and keys move it.

/** The stretch that ends at the instant `end`, ns; null: at now, whatever that is. */
export interface TimeWindow {
  readonly end: number | null;
  /** ns */
  readonly span: number;
}

export const FOLLOW: TimeWindow = { end: null, span: 10e9 };
const SHORTEST = 20e3;
const LONGEST = 120e9;

export function spanOf(window: TimeWindow, now: number): { from: number; to: number } {
  const to = window.end ?? now;
  return { from: to - window.span, to };
}

/** Around the place `at`, 0 to 1, whose instant stays where it is. At the right edge it goes on following now. */
export function zoomTime(window: TimeWindow, now: number, at: number, factor: number): TimeWindow {
  const span = Math.min(LONGEST, Math.max(SHORTEST, window.span * factor));
  if (window.end === null && at > 0.97) return { end: null, span };
  const { from } = spanOf(window, now);
  const instant = from + at * window.span;
  return settle(instant + (1 - at) * span, span, now);
}

/** By a share of the window; past now it follows again. */
export function panTime(window: TimeWindow, now: number, by: number): TimeWindow {
  return settle((window.end ?? now) + by * window.span, window.span, now);
}

/** Shows begin to end with room at both sides. */
export function fitTime(begin: number, end: number, now: number): TimeWindow {
  const span = Math.min(LONGEST, Math.max(SHORTEST, (end - begin) * 2));
  return settle((begin + end) / 2 + span / 2, span, now);
}

function settle(end: number, span: number, now: number): TimeWindow {
  if (end >= now) return { end: null, span };
  return { end: Math.max(end, Math.min(now, span / 2)), span };
}

/** Instants of an axis: round steps, at most one in `least` px; each with its text. */
export function axisTicks(
  from: number,
  to: number,
  width: number,
  epoch: number,
  least = 110,
): { at: number; text: string }[] {
  const span = to - from;
  if (!(span > 0) || !(width > 0)) return [];
  let step = 1e3;
  for (let k = 0; (step / span) * width < least; k++) step *= k % 3 === 1 ? 2.5 : 2;
  const ticks: { at: number; text: string }[] = [];
  // Full seconds of the clock, which the epoch need not begin with.
  const shift = (epoch % 1000) * 1e6;
  for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) {
    if (at >= 0) ticks.push({ at, text: tickText(at + shift, epoch - (epoch % 1000), step) });
  }
  return ticks;
}

/** "10:20:29" on full seconds, "+500 ms" between them. */
function tickText(ns: number, second: number, step: number): string {
  const rest = ns % 1e9;
  if (rest > 1 && rest < 1e9 - 1) {
    const [unit, one] = step >= 1e6 ? ["ms", 1e6] : ["µs", 1e3];
    return `+${Math.round(rest / one).toLocaleString("en")}\u202f${unit}`;
  }
  const date = new Date(second + Math.round(ns / 1e9) * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}
