import type { HistoryRing } from "@flamelet/model";
import { kindFill } from "./flame-painter.ts";
import type { Palette } from "./palette.ts";

export interface StripBar {
  /** CSS pixels. */
  x: number;
  w: number;
  /** Shares of the bar's time, 0 to 1. */
  cpu: number;
  blocked: number;
}

/**
 * The bars of a strip `width` px wide that shows the last `span` ns up to `now`. Periods are put together until a bar has
 * `least` px; which go together depends on their instants alone, so bars keep their shape while they move left.
 */
export function stripBars(
  ring: HistoryRing,
  now: number,
  span: number,
  width: number,
  least: number,
): StripBar[] {
  const { period, end, length } = ring;
  if (length === 0 || !(period > 0) || !(width > 0)) return [];
  const perPeriod = (period / span) * width;
  const together = Math.max(1, Math.ceil(least / perPeriod));
  const bars: StripBar[] = [];
  let k = 0;
  while (k < length) {
    const start = end - (length - k) * period;
    const slot = Math.round(start / period);
    // Up to the next multiple of `together`, counted from the session's start.
    const stop = Math.min(length, k + together - (((slot % together) + together) % together));
    const until = Math.min(now, end - (length - stop) * period);
    let cpu = 0;
    let blocked = 0;
    let idle = 0;
    for (; k < stop; k++) {
      cpu += ring.cpu(k);
      blocked += ring.blocked(k);
      idle += ring.idle(k);
    }
    // Time before the thread's start is in no column: a first bar shows the share of the time it covers.
    const whole = Math.max(until - start, cpu + blocked + idle);
    const x = width - ((now - start) / span) * width;
    const w = ((until - start) / span) * width;
    if (whole <= 0 || x + w < 0) continue;
    bars.push({ x, w, cpu: cpu / whole, blocked: blocked / whole });
  }
  return bars;
}

export interface StripMark {
  /** Instant, ns. */
  at: number;
  /** Height as a share of the band. */
  size: number;
  blocked: boolean;
}

export interface StripScene {
  ring: HistoryRing | undefined;
  now: number;
  span: number;
  /** ns since the connection was lost: that part is hatched. */
  lost: number;
  marks: readonly StripMark[];
  /** With band of marks, grid and axis. */
  large: boolean;
  ended: boolean;
}

const BAND = 14;
const AXIS = 16;

export function paintStrip(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  scene: StripScene,
  colours: Palette,
): void {
  const { span, lost, large } = scene;
  const now = scene.now + lost;
  const top = large ? BAND + 4 : 0;
  const base = large ? height - AXIS : height;
  const tall = base - top;
  if (tall <= 0) return;
  g.fillStyle = colours.page;
  g.fillRect(0, top, width, tall);
  if (large) paintGrid(g, width, top, base, height, span, scene.ended, colours);
  if (scene.ring !== undefined) {
    for (const bar of stripBars(scene.ring, now, span, width, large ? 3 : 2)) {
      const x = Math.round(bar.x);
      const wide = Math.max(1, Math.round(bar.x + bar.w) - x);
      const w = wide > 2 ? wide - 1 : wide;
      const cpu = Math.round(bar.cpu * tall);
      const blocked = Math.round((bar.cpu + bar.blocked) * tall) - cpu;
      g.fillStyle = colours.cpu;
      g.fillRect(x, base - cpu, w, cpu);
      if (blocked > 0) {
        g.fillStyle = kindFill("blocked", w, colours);
        g.fillRect(x, base - cpu - blocked, w, blocked);
      }
    }
  }
  if (lost > 0) {
    const from = Math.max(0, width - (lost / span) * width);
    g.fillStyle = colours.page;
    g.fillRect(from, top, width - from, tall);
    g.fillStyle = colours.hatch;
    g.fillRect(from, top, width - from, tall);
  }
  if (large) {
    for (const mark of scene.marks) {
      const x = Math.round(width - ((now - mark.at) / span) * width);
      if (x < 0 || x > width) continue;
      const size = Math.max(3, Math.round(mark.size * BAND));
      g.fillStyle = mark.blocked ? colours.blocked : colours.cpu;
      g.fillRect(Math.min(x, width - 2), BAND - size, 2, size);
    }
  }
}

function paintGrid(
  g: CanvasRenderingContext2D,
  width: number,
  top: number,
  base: number,
  height: number,
  span: number,
  ended: boolean,
  colours: Palette,
): void {
  const seconds = span / 1e9;
  const step = seconds > 60 ? 20 : 10;
  g.font = `11px ${colours.font}`;
  g.textBaseline = "alphabetic";
  for (let s = 0; s <= seconds; s += step) {
    const x = Math.round(width - (s / seconds) * width);
    if (s > 0 && s < seconds) {
      g.fillStyle = colours.hair;
      g.fillRect(x, top, 1, base - top);
    }
    g.fillStyle = colours.text2;
    g.textAlign = s === 0 ? "right" : s >= seconds ? "left" : "center";
    g.fillText(s === 0 ? (ended ? "end" : "now") : `\u2212${s} s`, x, height - 3);
  }
  g.fillStyle = colours.hair;
  g.fillRect(0, Math.round((top + base) / 2), width, 1);
  g.fillRect(0, base, width, 1);
}

/** The marks of one row of "held a hub": short ticks over the last `span` ns. */
export function paintMarks(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  marks: readonly StripMark[],
  now: number,
  span: number,
  colours: Palette,
): void {
  g.fillStyle = colours.hair;
  g.fillRect(0, height - 1, width, 1);
  for (const mark of marks) {
    const x = Math.round(width - ((now - mark.at) / span) * width);
    if (x < 0 || x > width) continue;
    const size = Math.max(4, Math.round(mark.size * (height - 1)));
    g.fillStyle = mark.blocked ? colours.blocked : colours.cpu;
    g.fillRect(Math.min(x, width - 2), height - 1 - size, 2, size);
  }
}
