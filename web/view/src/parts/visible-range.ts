/** Rows kept above and below the window, so that a fast scroll meets no blank. */
const MARGIN = 6;

/** The rows `first` to `end` (exclusive) that a window of `height` px at `top` shows, of `count` rows of `rowHeight` px. */
export function visibleRange(
  top: number,
  height: number,
  rowHeight: number,
  count: number,
): { first: number; end: number } {
  // The list may have become shorter than where the window still stands.
  const furthest = Math.max(0, count * rowHeight - height);
  const from = Math.min(Math.max(0, top), furthest);
  const first = Math.max(0, Math.floor(from / rowHeight) - MARGIN);
  const end = Math.min(count, Math.ceil((from + Math.max(0, height)) / rowHeight) + MARGIN);
  return { first, end };
}
