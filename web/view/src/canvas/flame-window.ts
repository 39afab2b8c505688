// Where the flame's boxes lie on the screen, and which box lies at a place. Pure.

/** Pitch of a row, px. The box is one less: the gap shows which frames are one. */
export const ROW_PITCH = 20;
export const BOX_HEIGHT = ROW_PITCH - 1;
/** Own time hangs below its frame; blocked time hangs lower, so that it is seen without choosing a colour mode. */
export const TIP = 8;
export const BLOCKED_TIP = 13;

/** What of the flame is in sight: shares `from` to `to` of the root's width over `width` px, scrolled down by `top` px. */
export interface FlameWindow {
  from: number;
  to: number;
  width: number;
  top: number;
  /** Rows above this one are not shown. */
  firstRow: number;
}

/** The part of the model's Icicle that a hit test needs. */
export interface Boxes {
  readonly rows: number;
  readonly x: ArrayLike<number>;
  readonly w: ArrayLike<number>;
  hit(row: number, x: number): number;
}

export function toX(view: FlameWindow, share: number): number {
  return ((share - view.from) / (view.to - view.from)) * view.width;
}

export function shareAt(view: FlameWindow, px: number): number {
  return view.from + (px / view.width) * (view.to - view.from);
}

export function rowTop(view: FlameWindow, row: number): number {
  return (row - view.firstRow) * ROW_PITCH - view.top;
}

export function rowAt(view: FlameWindow, py: number): number {
  return Math.floor((py + view.top) / ROW_PITCH) + view.firstRow;
}

/** Height of all rows with the tips of the last. */
export function contentHeight(rows: number, firstRow: number): number {
  return Math.max(0, rows - firstRow) * ROW_PITCH + BLOCKED_TIP + 3;
}

/** The box at a place, or the one whose tip hangs there; -1: none. */
export function boxAt(boxes: Boxes, view: FlameWindow, px: number, py: number): number {
  const row = rowAt(view, py);
  if (row < view.firstRow) return -1;
  const share = shareAt(view, px);
  const box = row < boxes.rows ? boxes.hit(row, share) : -1;
  if (box >= 0 || row === view.firstRow || row > boxes.rows) return box;
  const below = py - rowTop(view, row);
  return below < BLOCKED_TIP ? boxes.hit(row - 1, share) : -1;
}

/**
 * The window in which a frame at `x`, `w` (shares of the root) is zoomed to its part `lo` to `hi`. A frame without any
 * width, which may have lost its time to a change of kinds, gives the whole.
 */
export function zoomWindow(
  span: { x: number; w: number },
  lo: number,
  hi: number,
): { from: number; to: number } {
  if (!(span.w > 0)) return { from: 0, to: 1 };
  return { from: span.x + span.w * lo, to: span.x + span.w * hi };
}

/** `lo` to `hi` zoomed by `factor` (under 1: in) around the place `at` (0 to 1 of the window), within 0 to 1. */
export function zoomAround(lo: number, hi: number, at: number, factor: number): { lo: number; hi: number } {
  const width = Math.min(1, Math.max(1e-6, (hi - lo) * factor));
  const fixed = lo + (hi - lo) * at;
  return clampWindow(fixed - width * at, width);
}

/** `lo` to `hi` moved by `by` of its own width, within 0 to 1. */
export function panBy(lo: number, hi: number, by: number): { lo: number; hi: number } {
  return clampWindow(lo + (hi - lo) * by, hi - lo);
}

function clampWindow(lo: number, width: number): { lo: number; hi: number } {
  const from = Math.min(Math.max(0, lo), 1 - width);
  return { lo: from, hi: from + width };
}

/** Ease-out of an animation at `t` (0 to 1). */
export function easeOut(t: number): number {
  return 1 - (1 - t) ** 3;
}
