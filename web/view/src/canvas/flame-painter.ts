import { formatPercent, formatTime, type Icicle, type Kind, type Kinds, type Tree } from "@flamelet/model";
import { cutName, type Measure } from "./cut.ts";
import {
  BLOCKED_TIP,
  BOX_HEIGHT,
  type FlameWindow,
  ROW_PITCH,
  rowAt,
  rowTop,
  TIP,
  toX,
} from "./flame-window.ts";
import type { Palette } from "./palette.ts";

export interface FlameScene {
  tree: Tree;
  icicle: Icicle;
  kinds: Kinds;
  view: FlameWindow;
  colourBy: "module" | "kind";
  /** CSS colour of a function's frame. */
  fillOf: (fn: number) => string;
  /** Text on the root's frame, which has no function. */
  rootName: string;
  nameOf: (fn: number) => string;
  /** null: no search. */
  matches: ((fn: number) => boolean) | null;
  /** Tree node, -1: none. */
  selected: number;
  hovered: number;
  /** Function whose places are outlined, 0: none. */
  sameFunction: number;
}

/** Narrower frames become columns of one pixel, so that nothing disappears and nothing is drawn twice. */
const COLUMN = 1.2;
const LABEL_ROOM = 26;
const PAD = 6;
/** Room that must be left beside the name for value and share. */
const VALUE_ROOM = 90;
const STRIPES_FROM = 6;
const TIP_KINDS: readonly Kind[] = ["cpu", "blocked", "waited", "idle"];
const DIMMED = 0.45;

/** Paints the rows in sight. `g` is cleared, in CSS pixels. */
export function paintFlame(
  g: CanvasRenderingContext2D,
  height: number,
  scene: FlameScene,
  colours: Palette,
  measure: Measure,
): void {
  const { icicle, view } = scene;
  const first = Math.max(view.firstRow, rowAt(view, 0) - 1);
  const last = Math.min(icicle.rows - 1, rowAt(view, height));
  const labels: number[] = [];
  for (let row = first; row <= last; row++) paintRow(g, row, scene, colours, labels);
  g.globalAlpha = 1;
  paintTips(g, first, last, scene, colours);
  g.font = `11px ${colours.font}`;
  g.textBaseline = "middle";
  for (const box of labels) paintLabel(g, box, scene, colours, measure);
  g.globalAlpha = 1;
  paintOutlines(g, first, last, scene, colours);
}

function paintRow(
  g: CanvasRenderingContext2D,
  row: number,
  scene: FlameScene,
  colours: Palette,
  labels: number[],
): void {
  const { icicle, tree, view, matches } = scene;
  const y = rowTop(view, row);
  const [start, end] = icicle.visible(row, view.from, view.to);
  let column = -1;
  for (let box = start; box < end; box++) {
    const left = toX(view, icicle.x[box]!);
    const right = toX(view, icicle.x[box]! + icicle.w[box]!);
    const narrow = right - left < COLUMN;
    const x = narrow ? Math.floor(left) : Math.max(-1, Math.round(left));
    if (narrow && x === column) continue;
    const w = narrow ? 1 : Math.min(view.width + 1, Math.round(right)) - x - (right - left > 3 ? 1 : 0);
    if (narrow) column = x;
    const fn = tree.function[icicle.node[box]!]!;
    const match = matches === null || matches(fn);
    g.globalAlpha = match ? 1 : DIMMED;
    if (scene.colourBy === "kind" || fn === 0) {
      g.fillStyle = colours.std;
      g.fillRect(x, y, w, BOX_HEIGHT);
      if (scene.colourBy === "kind")
        paintKinds(g, icicle.node[box]!, x, y + BOX_HEIGHT - 5, w, scene, colours);
    } else {
      g.fillStyle = scene.fillOf(fn);
      g.fillRect(x, y, w, BOX_HEIGHT);
    }
    if (matches !== null && match && fn !== 0) {
      g.fillStyle = colours.accent;
      g.fillRect(x, y + BOX_HEIGHT - 2, w, 2);
    }
    if (right - left >= LABEL_ROOM) labels.push(box);
  }
}

/** A band of the frame's counted kinds side by side. */
function paintKinds(
  g: CanvasRenderingContext2D,
  node: number,
  x: number,
  y: number,
  w: number,
  scene: FlameScene,
  colours: Palette,
): void {
  const total = scene.tree.totalOf(node, scene.kinds);
  if (total <= 0) return;
  let at = x;
  for (const kind of TIP_KINDS) {
    if (!scene.kinds[kind]) continue;
    const part = (scene.tree.total[kind][node]! / total) * w;
    if (part <= 0) continue;
    g.fillStyle = kindFill(kind, part, colours);
    g.fillRect(at, y, part, 5);
    at += part;
  }
}

/** Own time hangs below the frame, at the right of its callees: the lower edge accounts for the whole width. */
function paintTips(
  g: CanvasRenderingContext2D,
  first: number,
  last: number,
  scene: FlameScene,
  colours: Palette,
): void {
  const { icicle, tree, view, kinds, matches } = scene;
  if (!(icicle.total > 0)) return;
  const scale = view.width / (view.to - view.from) / icicle.total;
  for (let row = first; row <= last; row++) {
    const y = rowTop(view, row) + ROW_PITCH;
    const [start, end] = icicle.visible(row, view.from, view.to);
    let column = -1;
    for (let box = start; box < end; box++) {
      const node = icicle.node[box]!;
      const own = tree.ownOf(node, kinds);
      if (own <= 0) continue;
      let x = toX(view, icicle.x[box]! + icicle.w[box]!) - own * scale;
      if (x > view.width) continue;
      g.globalAlpha = matches === null || matches(tree.function[node]!) ? 1 : DIMMED;
      for (const kind of TIP_KINDS) {
        if (!kinds[kind]) continue;
        const w = tree.own[kind][node]! * scale;
        if (w <= 0) continue;
        const tall = kind === "blocked" ? BLOCKED_TIP : TIP;
        if (w < COLUMN) {
          const at = Math.floor(x);
          if (w >= 0.3 && at !== column) {
            column = at;
            g.fillStyle = kindColour(kind, colours);
            g.fillRect(at, y, 1, tall);
          }
        } else if (x + w > 0) {
          const from = Math.max(0, x);
          const to = Math.min(view.width, x + w - (w > 3 ? 1 : 0));
          g.fillStyle = kindFill(kind, w, colours);
          g.fillRect(from, y, to - from, tall);
        }
        x += w;
      }
    }
  }
  g.globalAlpha = 1;
}

function paintLabel(
  g: CanvasRenderingContext2D,
  box: number,
  scene: FlameScene,
  colours: Palette,
  measure: Measure,
): void {
  const { icicle, tree, view, matches } = scene;
  const node = icicle.node[box]!;
  const fn = tree.function[node]!;
  // Text sticks to what is in sight of the frame.
  const left = Math.max(0, toX(view, icicle.x[box]!)) + PAD;
  const right = Math.min(view.width, toX(view, icicle.x[box]! + icicle.w[box]!)) - PAD;
  const room = right - left;
  if (room < LABEL_ROOM - 2 * PAD) return;
  const name = cutName(fn === 0 ? scene.rootName : scene.nameOf(fn), room, measure);
  if (name === "") return;
  const y = rowTop(view, icicle.depth[box]!) + (scene.colourBy === "kind" ? 7.5 : BOX_HEIGHT / 2 + 0.5);
  g.globalAlpha = matches === null || matches(fn) ? 1 : 0.7;
  g.fillStyle = colours.onModule;
  g.textAlign = "left";
  g.fillText(name, left, y);
  if (room - measure(name) < VALUE_ROOM) return;
  const total = tree.totalOf(node, scene.kinds);
  const percent = formatPercent(icicle.total > 0 ? total / icicle.total : 0).text;
  g.globalAlpha *= 0.78;
  g.textAlign = "right";
  g.fillText(percent, right, y);
  g.fillText(formatTime(total).text, right - Math.max(44, measure(percent) + 9), y);
}

function paintOutlines(
  g: CanvasRenderingContext2D,
  first: number,
  last: number,
  scene: FlameScene,
  colours: Palette,
): void {
  const { icicle, tree, view } = scene;
  const outline = (box: number, width: number): void => {
    const left = Math.max(-2, toX(view, icicle.x[box]!));
    const right = Math.min(view.width + 2, toX(view, icicle.x[box]! + icicle.w[box]!));
    if (right < 0 || left > view.width) return;
    const w = Math.max(right - left - 1, 2);
    g.lineWidth = width;
    g.strokeRect(
      left + width / 2,
      rowTop(view, icicle.depth[box]!) + width / 2,
      Math.max(w - width, 1),
      BOX_HEIGHT - width,
    );
  };
  g.strokeStyle = colours.text0;
  if (scene.sameFunction > 0) {
    for (let row = first; row <= last; row++) {
      const [start, end] = icicle.visible(row, view.from, view.to);
      for (let box = start; box < end; box++) {
        if (tree.function[icicle.node[box]!] === scene.sameFunction) outline(box, 1);
      }
    }
  }
  if (scene.hovered >= 0) {
    const box = icicle.boxOf(scene.hovered);
    if (box >= 0) {
      const left = Math.max(0, toX(view, icicle.x[box]!));
      const right = Math.min(view.width, toX(view, icicle.x[box]! + icicle.w[box]!));
      g.globalAlpha = 0.16;
      g.fillStyle = colours.text0;
      g.fillRect(left, rowTop(view, icicle.depth[box]!), Math.max(1, right - left - 1), BOX_HEIGHT);
      g.globalAlpha = 1;
    }
  }
  if (scene.selected >= 0) {
    const box = icicle.boxOf(scene.selected);
    if (box >= 0) outline(box, 2);
  }
}

export function kindColour(kind: Kind, colours: Palette): string {
  switch (kind) {
    case "cpu":
      return colours.cpu;
    case "blocked":
      return colours.blocked;
    case "waited":
      return colours.waitedDot;
    default:
      return colours.strong;
  }
}

/** With its texture where `width` px have room for one. */
export function kindFill(kind: Kind, width: number, colours: Palette): string | CanvasPattern {
  if (width >= STRIPES_FROM) {
    if (kind === "blocked") return colours.stripes;
    if (kind === "waited") return colours.dots;
  }
  return kindColour(kind, colours);
}
