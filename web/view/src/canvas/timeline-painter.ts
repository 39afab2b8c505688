import type { ThreadTimeline, TimelineSlice } from "@flamelet/model";
import { cutEnd, type Measure } from "./cut.ts";
import { kindFill } from "./flame-painter.ts";
import type { Palette } from "./palette.ts";
import { axisTicks } from "./time-window.ts";

/** A slice as it is drawn; `row` -1: the one that still lasts. */
export interface LaneSlice extends TimelineSlice {
  row: number;
}

/** A line of the timeline: all slices of a thread, or those of one task. */
export interface Lane {
  thread: number;
  /** 0: of the whole thread. */
  task: number;
  y: number;
  height: number;
  title: string;
  note: string;
  slices: ThreadTimeline | undefined;
  lasting: LaneSlice | null;
}

export interface TimelineScene {
  lanes: readonly Lane[];
  /** Width of the titles. */
  left: number;
  from: number;
  to: number;
  now: number;
  /** ms */
  epoch: number;
  ended: boolean;
  hovered: { lane: Lane; slice: LaneSlice } | null;
  selected: { thread: number; begin: number } | null;
  selectedTask: number;
  nameOf: (task: number, group: number) => string;
  timeText: (ns: number) => string;
}

export const AXIS = 24;
/** Narrower slices become columns whose height is their share of the pixel. */
const SOLID = 2;
const PAD = 4;

/** Slices of a lane that lie in [from, to), the one that lasts included. */
export function* lanesSlices(lane: Lane, from: number, to: number): Generator<LaneSlice> {
  const { slices, task } = lane;
  if (slices !== undefined) {
    for (let row = slices.firstAfter(from); row < slices.size && slices.begin[row]! < to; row++) {
      if (task === 0 || slices.task[row] === task) yield laneSlice(slices, row);
    }
  }
  const { lasting } = lane;
  if (lasting !== null && lasting.end > from && lasting.begin < to) {
    if (task === 0 || lasting.task === task) yield lasting;
  }
}

export function laneSlice(slices: ThreadTimeline, row: number): LaneSlice {
  return { row, ...slices.sliceAt(row) };
}

/** What is narrower than SOLID, by pixel: shares of cpu and blocked, 0 to 1. Exact sums: no slice disappears. */
export function laneColumns(
  lane: Lane,
  from: number,
  to: number,
  width: number,
): { cpu: Float64Array; blocked: Float64Array; solid: LaneSlice[] } {
  const cpu = new Float64Array(width);
  const blocked = new Float64Array(width);
  const solid: LaneSlice[] = [];
  const perPixel = (to - from) / width;
  for (const slice of lanesSlices(lane, from, to)) {
    const length = slice.end - slice.begin;
    if (length >= SOLID * perPixel) {
      solid.push(slice);
      continue;
    }
    if (length <= 0) continue;
    const first = Math.max(0, Math.floor((slice.begin - from) / perPixel));
    const last = Math.min(width - 1, Math.floor((slice.end - from) / perPixel));
    for (let x = first; x <= last; x++) {
      const begin = Math.max(slice.begin, from + x * perPixel);
      const end = Math.min(slice.end, from + (x + 1) * perPixel);
      if (end <= begin) continue;
      const part = (end - begin) / length / perPixel;
      cpu[x]! += slice.cpu * part;
      blocked[x]! += slice.blocked * part;
    }
  }
  return { cpu, blocked, solid };
}

/** Where nothing is known of a thread within [from, to): slices that were lost between two, and what is not kept. */
export function laneGaps(
  lane: Lane,
  from: number,
  to: number,
): { begin: number; end: number; lost: boolean }[] {
  const gaps: { begin: number; end: number; lost: boolean }[] = [];
  const { slices, lasting } = lane;
  const size = slices?.size ?? 0;
  const oldest = size > 0 ? slices!.begin[0]! : (lasting?.begin ?? to);
  if (oldest > from) gaps.push({ begin: Math.max(0, from), end: Math.min(to, oldest), lost: false });
  if (slices === undefined) return gaps;
  for (let row = Math.max(1, slices.firstAfter(from)); row < size && slices.end[row - 1]! < to; row++) {
    const begin = slices.end[row - 1]!;
    if (slices.begin[row]! > begin) gaps.push({ begin, end: slices.begin[row]!, lost: true });
  }
  return gaps.filter((gap) => gap.end > Math.max(from, gap.begin) && gap.begin < to);
}

export function paintTimeline(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  scene: TimelineScene,
  colours: Palette,
): void {
  const { left, from, to } = scene;
  const right = Math.floor(width - left);
  if (right <= 0) return;
  const x = (instant: number): number => left + ((instant - from) / (to - from)) * right;
  g.textBaseline = "middle";
  g.textAlign = "left";
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, left, height);
  paintAxis(g, width, height, scene, x, colours);
  for (const lane of scene.lanes) {
    g.save();
    g.beginPath();
    g.rect(left, lane.y, right, lane.height);
    g.clip();
    paintLane(g, right, lane, scene, x, colours);
    g.restore();
    paintTitle(g, lane, scene, colours);
    g.fillStyle = colours.hair;
    g.fillRect(0, lane.y + lane.height - 1, width, 1);
  }
  g.fillStyle = colours.strong;
  g.fillRect(left - 1, 0, 1, height);
}

function paintAxis(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  scene: TimelineScene,
  x: (instant: number) => number,
  colours: Palette,
): void {
  const { from, to, left, epoch } = scene;
  g.font = `11px ${colours.font}`;
  for (const { at, text } of axisTicks(from, to, width - left, epoch)) {
    const place = Math.round(x(at));
    g.fillStyle = colours.hair;
    g.fillRect(place, AXIS - 6, 1, height);
    g.fillStyle = colours.text2;
    if (place + 4 + g.measureText(text).width < width) g.fillText(text, place + 4, AXIS / 2);
  }
  g.fillStyle = colours.hair;
  g.fillRect(0, AXIS - 1, width, 1);
}

function paintTitle(g: CanvasRenderingContext2D, lane: Lane, scene: TimelineScene, colours: Palette): void {
  const middle = lane.y + lane.height / 2;
  const chosen = lane.task !== 0 && lane.task === scene.selectedTask;
  if (chosen) {
    g.fillStyle = colours.raised;
    g.fillRect(0, lane.y, scene.left - 1, lane.height - 1);
  }
  const measure: Measure = (text) => g.measureText(text).width;
  const indent = lane.task === 0 ? 12 : 20;
  const room = scene.left - indent - 8;
  g.font = `${lane.task === 0 ? "600 " : ""}12px ${colours.font}`;
  g.fillStyle = lane.task === 0 || chosen ? colours.text0 : colours.text1;
  const title = cutEnd(lane.title, room, measure);
  g.fillText(title, indent, middle);
  const used = measure(title) + 6;
  g.font = `11px ${colours.font}`;
  g.fillStyle = colours.text2;
  g.fillText(cutEnd(lane.note, room - used, measure), indent + used, middle);
}

function paintLane(
  g: CanvasRenderingContext2D,
  right: number,
  lane: Lane,
  scene: TimelineScene,
  x: (instant: number) => number,
  colours: Palette,
): void {
  const { from, to, left } = scene;
  const top = lane.y + PAD;
  const tall = lane.height - 2 * PAD;
  const base = top + tall;
  if (lane.task === 0) paintGaps(g, lane, scene, x, colours);
  const { cpu, blocked, solid } = laneColumns(lane, from, to, right);
  // One task's few slices would be dots: that it had the hub at all is what its lane is for.
  const least = lane.task === 0 ? 0 : tall / 2;
  for (let px = 0; px < right; px++) {
    const busy = cpu[px]! + blocked[px]!;
    if (busy <= 0) continue;
    const scale = Math.max(tall, least / busy);
    const low = Math.min(tall, Math.max(cpu[px]! > 0 ? 1 : 0, Math.round(cpu[px]! * scale)));
    const high = Math.min(tall - low, Math.max(blocked[px]! > 0 ? 1 : 0, Math.round(blocked[px]! * scale)));
    g.fillStyle = colours.cpu;
    g.fillRect(left + px, base - low, 1, low);
    g.fillStyle = colours.blocked;
    g.fillRect(left + px, base - low - high, 1, high);
  }
  for (const slice of solid) paintSlice(g, lane, slice, scene, x, colours);
  if (lane.task === 0 && scene.selectedTask !== 0) {
    g.fillStyle = colours.accent;
    for (const slice of lanesSlices({ ...lane, task: scene.selectedTask }, from, to)) {
      const begin = Math.round(x(slice.begin));
      g.fillRect(begin, lane.y + lane.height - 4, Math.max(2, Math.round(x(slice.end)) - begin), 2);
    }
  }
}

function paintGaps(
  g: CanvasRenderingContext2D,
  lane: Lane,
  scene: TimelineScene,
  x: (instant: number) => number,
  colours: Palette,
): void {
  for (const gap of laneGaps(lane, scene.from, scene.to)) {
    const begin = Math.max(scene.left, Math.round(x(gap.begin)));
    const wide = Math.max(1, Math.round(x(gap.end)) - begin);
    g.fillStyle = gap.lost ? colours.hatch : colours.raised;
    g.fillRect(begin, lane.y, wide, lane.height - 1);
    const text = gap.lost ? "lost" : "not kept";
    g.font = `11px ${colours.font}`;
    const size = g.measureText(text).width;
    if (wide < size + 16) continue;
    if (gap.lost) {
      g.fillStyle = colours.panel;
      g.fillRect(begin + 6, lane.y + lane.height / 2 - 8, size + 8, 16);
    }
    g.fillStyle = colours.text2;
    g.fillText(text, begin + 10, lane.y + lane.height / 2);
  }
}

function paintSlice(
  g: CanvasRenderingContext2D,
  lane: Lane,
  slice: LaneSlice,
  scene: TimelineScene,
  x: (instant: number) => number,
  colours: Palette,
): void {
  const top = lane.y + PAD;
  const tall = lane.height - 2 * PAD;
  const begin = Math.max(scene.left, Math.round(x(slice.begin)));
  const end = Math.round(x(slice.end));
  const full = Math.max(1, end - begin);
  // A gap of one pixel tells neighbours apart.
  const wide = full > 3 ? full - 1 : full;
  const length = slice.end - slice.begin;
  const share = (part: number): number =>
    length > 0 && part > 0 ? Math.max(1, Math.round((part / length) * tall)) : 0;
  const low = Math.min(tall, share(slice.cpu));
  const high = Math.min(tall - low, share(slice.blocked));
  g.fillStyle = colours.cpu;
  g.fillRect(begin, top + tall - low, wide, low);
  if (high > 0) {
    g.fillStyle = kindFill("blocked", wide, colours);
    g.fillRect(begin, top + tall - low - high, wide, high);
  }
  const here = scene.hovered?.lane === lane && scene.hovered.slice.begin === slice.begin;
  if (here) {
    g.globalAlpha = 0.16;
    g.fillStyle = colours.text0;
    g.fillRect(begin, top, wide, tall);
    g.globalAlpha = 1;
  }
  const { selected } = scene;
  if (selected !== null && selected.thread === lane.thread && selected.begin === slice.begin) {
    g.strokeStyle = colours.text0;
    g.lineWidth = 2;
    g.strokeRect(begin, top - 1, Math.max(2, wide), tall + 2);
  }
  // A hub that polls has nothing to say.
  if (low + high >= tall / 2) paintSliceText(g, lane, slice, scene, begin, wide, colours);
}

function paintSliceText(
  g: CanvasRenderingContext2D,
  lane: Lane,
  slice: LaneSlice,
  scene: TimelineScene,
  begin: number,
  wide: number,
  colours: Palette,
): void {
  g.font = `11px ${colours.font}`;
  const time = scene.timeText(slice.end - slice.begin);
  const name = lane.task === 0 ? scene.nameOf(slice.task, slice.group) : "";
  const text = [`${name} ${time}`.trim(), time].find((each) => g.measureText(each).width + 14 <= wide);
  if (text === undefined) return;
  const middle = lane.y + lane.height / 2;
  g.fillStyle = colours.panel;
  g.fillRect(begin + 3, middle - 8, g.measureText(text).width + 8, 16);
  g.fillStyle = colours.text0;
  g.fillText(text, begin + 7, middle);
}
