/** Numbers as the whole page shows them. */

/** Joins number and unit. */
export const NARROW_SPACE = "\u202f";
export const MINUS = "\u2212";
/** Stands for zero. */
export const ZERO = "\u00b7";

export interface Quantity {
  /** "180", "1,412", "·", "<0.1" */
  number: string;
  /** "ms", "%"; "" with zero */
  unit: string;
  /** Both, joined by a narrow space. */
  text: string;
}

function quantity(number: string, unit: string): Quantity {
  return { number, unit, text: unit === "" ? number : `${number}${NARROW_SPACE}${unit}` };
}

function thousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Three significant digits of a number from 0 up; larger ones keep all digits before the point. */
function significant(value: number): string {
  if (value >= 99.95) return thousands(value.toFixed(0));
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** Largest value that is shown in a unit; the next unit begins where three digits would round to 1,000. */
const UNITS: readonly (readonly [unit: string, ns: number, below: number])[] = [
  ["ns", 1, 999.5],
  ["µs", 1e3, 999.5],
  ["ms", 1e6, 999.5],
  ["s", 1e9, 3599.5],
  ["h", 3.6e12, Number.POSITIVE_INFINITY],
];

/** 53.1 ns, 941 µs, 180 ms, 12.7 s, 97.2 h: columns, labels, tables. */
export function formatTime(ns: number): Quantity {
  if (ns === 0) return quantity(ZERO, "");
  if (!Number.isFinite(ns)) return quantity("?", "");
  const size = Math.abs(ns);
  const sign = ns < 0 ? MINUS : "";
  const [unit, one] = UNITS.find(([, ns1, below]) => size / ns1 < below)!;
  return quantity(sign + significant(size / one), unit);
}

/** As formatTime, and "6 min 12 s", "2 h 5 min", "3 d 4 h" from 90 s on: for sentences. */
export function formatDuration(ns: number): string {
  if (Math.abs(ns) < 90e9 || !Number.isFinite(ns)) {
    return ns === 0 ? `0${NARROW_SPACE}s` : formatTime(ns).text;
  }
  const sign = ns < 0 ? MINUS : "";
  const seconds = Math.round(Math.abs(ns) / 1e9);
  const two = (a: number, unit: string, b: number, less: string): string => {
    const rest = b > 0 ? ` ${b}${NARROW_SPACE}${less}` : "";
    return `${sign}${thousands(String(a))}${NARROW_SPACE}${unit}${rest}`;
  };
  if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
  const hours = Math.round(minutes / 60);
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** Age in a list: "12 s", "6 min", "2 h 5 min", "3 d 4 h". Clocks that differ make no negative one. */
export function formatAge(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 90) return `${whole}${NARROW_SPACE}s`;
  return whole < 3600 ? `${Math.floor(whole / 60)}${NARROW_SPACE}min` : formatDuration(whole * 1e9);
}

/** One decimal; a share from 0 to 1 in. "<0.1 %" is not zero. */
export function formatPercent(share: number): Quantity {
  if (share === 0) return quantity(ZERO, "");
  if (!Number.isFinite(share)) return quantity("?", "");
  const percent = Math.abs(share) * 100;
  const sign = share < 0 ? MINUS : "";
  if (percent < 0.05) return quantity(`${sign}<0.1`, "%");
  const fixed = percent.toFixed(1);
  const [whole, part] = fixed.split(".");
  return quantity(`${sign}${thousands(whole!)}.${part}`, "%");
}

/** Thousands commas; "·" is zero. */
export function formatCount(count: number): string {
  if (count === 0) return ZERO;
  return (count < 0 ? MINUS : "") + thousands(Math.abs(Math.round(count)).toFixed(0));
}

/** HH:MM:SS of an instant in local time. `epochMs`: the session's start. */
export function formatClock(epochMs: number, instantNs: number): string {
  const date = new Date(epochMs + instantNs / 1e6);
  const two = (n: number): string => String(n).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
