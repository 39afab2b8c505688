// The colours of the stylesheet, resolved for canvases. The tokens use light-dark(), which only an element's computed
// colour resolves, so a hidden probe is asked for each.

export interface Palette {
  page: string;
  panel: string;
  raised: string;
  hair: string;
  strong: string;
  text0: string;
  text1: string;
  text2: string;
  accent: string;
  cpu: string;
  cpuText: string;
  blocked: string;
  waited: string;
  waitedDot: string;
  warn: string;
  own: string;
  libs: readonly string[];
  loop: string;
  std: string;
  onModule: string;
  /** Blocked time from 6 px of width on; below that the plain colour reads better. */
  stripes: CanvasPattern | string;
  dots: CanvasPattern | string;
  /** Time that nobody saw: while the connection was lost. */
  hatch: CanvasPattern | string;
  font: string;
}

export const LIBRARY_HUES = 8;

let current: Palette | null = null;
const listeners = new Set<() => void>();

export function palette(): Palette {
  current ??= read();
  return current;
}

/** Call after anything that changes what the tokens resolve to (theme, contrast, screen resolution). */
export function refreshPalette(): void {
  current = null;
  for (const listener of listeners) listener();
}

export function onPaletteChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(): Palette {
  const probe = document.createElement("span");
  document.body.append(probe);
  const style = getComputedStyle(probe);
  const colour = (token: string): string => {
    probe.style.color = `var(--${token})`;
    return style.color;
  };
  const blocked = colour("blocked");
  const waited = colour("waited");
  const waitedDot = colour("waited-dot");
  const strong = colour("strong");
  const result: Palette = {
    page: colour("page"),
    panel: colour("panel"),
    raised: colour("raised"),
    hair: colour("hair"),
    strong,
    text0: colour("text-0"),
    text1: colour("text-1"),
    text2: colour("text-2"),
    accent: colour("accent"),
    cpu: colour("cpu"),
    cpuText: colour("cpu-text"),
    blocked,
    waited,
    waitedDot,
    warn: colour("warn"),
    own: colour("own"),
    libs: Array.from({ length: LIBRARY_HUES }, (_, i) => colour(`lib-${i}`)),
    loop: colour("loop"),
    std: colour("std"),
    onModule: colour("on-module"),
    stripes: diagonal(6, blocked, colour("blocked-stripe"), 2),
    dots: dotted(4, waited, waitedDot),
    hatch: diagonal(6, "transparent", strong, 1.2),
    font: style.fontFamily,
  };
  probe.remove();
  return result;
}

/** A pattern from a square tile of `side` CSS pixels, drawn at the screen's resolution so that it stays sharp. */
function tile(
  side: number,
  fallback: string,
  draw: (g: CanvasRenderingContext2D) => void,
): CanvasPattern | string {
  const ratio = window.devicePixelRatio || 1;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(side * ratio);
  const g = canvas.getContext("2d");
  if (g === null) return fallback;
  const scale = canvas.width / side;
  g.scale(scale, scale);
  draw(g);
  const pattern = g.createPattern(canvas, "repeat");
  if (pattern === null) return fallback;
  pattern.setTransform(new DOMMatrix([1 / scale, 0, 0, 1 / scale, 0, 0]));
  return pattern;
}

function diagonal(side: number, ground: string, stroke: string, width: number): CanvasPattern | string {
  return tile(side, stroke, (g) => {
    g.fillStyle = ground;
    g.fillRect(0, 0, side, side);
    g.strokeStyle = stroke;
    g.lineWidth = width;
    g.beginPath();
    // The line and its two neighbours, so that the tile's corners continue the stripe.
    for (const shift of [-side, 0, side]) {
      g.moveTo(shift - 1, side + 1);
      g.lineTo(shift + side + 1, -1);
    }
    g.stroke();
  });
}

function dotted(side: number, ground: string, dot: string): CanvasPattern | string {
  return tile(side, ground, (g) => {
    g.fillStyle = ground;
    g.fillRect(0, 0, side, side);
    g.fillStyle = dot;
    g.beginPath();
    g.arc(side / 2, side / 2, 0.9, 0, 2 * Math.PI);
    g.fill();
  });
}
