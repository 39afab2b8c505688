import { formatTime } from "@flamelet/model";
import { effect, type Signal, signal } from "@preact/signals";
import { palette } from "../canvas/palette.ts";
import { followPointer } from "../canvas/pointer.ts";
import { Surface } from "../canvas/surface.ts";
import { FOLLOW, fitTime, panTime, spanOf, type TimeWindow, zoomTime } from "../canvas/time-window.ts";
import {
  AXIS,
  type Lane,
  type LaneSlice,
  laneSlice,
  lanesSlices,
  paintTimeline,
} from "../canvas/timeline-painter.ts";
import type { Page, SelectedSlice } from "../state/page.ts";
import { isOver } from "../state/selectors.ts";
import { Lanes, sliceTitle } from "./lanes.ts";

/** px of a wheel's line. */
const LINE = 24;
/** px beside the pointer in which the busiest slice is taken, where slices are too narrow to be hit. */
const NEAR = 3;

export interface TimelineHover {
  lane: Lane;
  slice: LaneSlice;
  /** Of the pointer, in the window's CSS pixels. */
  x: number;
  y: number;
}

/** The timeline on its canvas: paints it, and turns pointer, wheel and keys into window and selection. */
export class TimelineController {
  readonly hover: Signal<TimelineHover | null> = signal(null);
  private readonly surface: Surface;
  private readonly lanes: Lanes;
  private shown: Lane[] = [];
  private readonly undo: (() => void)[] = [];

  constructor(
    private readonly page: Page,
    private readonly host: HTMLElement,
  ) {
    this.lanes = new Lanes(page);
    this.surface = new Surface(host, (g, width, height) => this.paint(g, width, height));
    this.undo.push(
      followPointer(host, LINE, {
        drags: "x",
        drag: (dx) => this.pan(-dx / this.right),
        click: (event) => this.click(event),
        hover: (event) => this.hoverAt(event),
        leave: () => {
          this.hover.value = null;
        },
        wheel: (event, dx, dy) => this.wheel(event, dx, dy),
      }),
      effect(() => {
        void [page.updates.value, page.timeWindow.value, page.selection.value, page.slice.value];
        void [page.pinned.value, page.narrow.value, page.taskQuery.value, this.hover.value];
        this.surface.invalidate();
      }),
    );
  }

  dispose(): void {
    for (const undo of this.undo) undo();
    this.surface.dispose();
  }

  /** `factor` below 1 shows less time. From keys: around the selected slice, else the end. */
  zoom(factor: number): void {
    const { from, to } = this.range();
    const { slice } = this.page;
    const middle = slice.value === null ? to : (slice.value.begin + slice.value.end) / 2;
    const at = middle >= from && middle <= to ? (middle - from) / (to - from) : 0.5;
    this.setWindow(zoomTime(this.window, this.now, at, factor));
  }

  pan(by: number): void {
    this.setWindow(panTime(this.window, this.now, by));
  }

  /** The selected slice, wide. */
  fit(): boolean {
    const slice = this.page.slice.value;
    if (slice === null) return false;
    this.setWindow(fitTime(slice.begin, slice.end, this.now));
    return true;
  }

  /** One step back: following now, then nothing selected. */
  stepBack(): boolean {
    const { page } = this;
    if (page.timeWindow.value.end !== null) {
      page.timeWindow.value = { end: null, span: Math.max(page.timeWindow.value.span, 1e9) };
      return true;
    }
    if (page.timeWindow.value.span !== FOLLOW.span) {
      page.timeWindow.value = FOLLOW;
      return true;
    }
    if (page.slice.value === null) return false;
    page.slice.value = null;
    return true;
  }

  /** The slice before (-1) or after (1) the selected one in its thread; `least`: of at least so many busy ns. */
  step(direction: -1 | 1, least = 0): boolean {
    const { page } = this;
    const { timeline } = page.store;
    const { from, to } = this.range();
    const chosen = page.slice.value;
    const lanes = this.shown.filter((lane) => lane.task === 0);
    const threads = chosen !== null && least === 0 ? [chosen.thread] : lanes.map((lane) => lane.thread);
    const at = chosen?.begin ?? (direction < 0 ? to : from);
    let best: SelectedSlice | null = null;
    for (const thread of threads) {
      const slices = timeline.of(thread);
      if (slices === undefined) continue;
      const start = direction > 0 ? slices.firstAfter(at) : Math.min(slices.size - 1, slices.firstAfter(at));
      for (let row = start; row >= 0 && row < slices.size; row += direction) {
        const beyond = direction > 0 ? slices.begin[row]! > at : slices.begin[row]! < at;
        const busy = slices.cpu(row) + slices.blocked[row]!;
        if (!beyond || busy < Math.max(1, least)) continue;
        const begin = slices.begin[row]!;
        if (best === null || Math.abs(begin - at) < Math.abs(best.begin - at)) {
          best = page.sliceOf(thread, row);
        }
        break;
      }
    }
    if (best === null) return false;
    page.chooseSlice(best);
    if (best.begin < from || best.end > to) this.reveal(best);
    return true;
  }

  private reveal({ begin, end }: SelectedSlice): void {
    const span = Math.max(this.window.span, (end - begin) * 1.2);
    const middle = (begin + end) / 2;
    this.setWindow(panTime({ end: middle + span / 2, span }, this.now, 0));
  }

  private get now(): number {
    return this.page.store.now;
  }

  private get window(): TimeWindow {
    return this.page.timeWindow.peek();
  }

  private setWindow(window: TimeWindow): void {
    this.page.timeWindow.value = window;
    this.hover.value = null;
  }

  private range(): { from: number; to: number } {
    return spanOf(this.window, this.now);
  }

  private get left(): number {
    return this.page.narrow.peek() ? 136 : 184;
  }

  /** Width of the lanes, px. */
  private get right(): number {
    return Math.max(1, this.surface.width - this.left);
  }

  private paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const { page } = this;
    const { from, to } = this.range();
    this.shown = this.lanes.build(from, to, height);
    const selection = page.selection.peek();
    paintTimeline(
      g,
      width,
      height,
      {
        lanes: this.shown,
        left: this.left,
        from,
        to,
        now: this.now,
        epoch: page.session.peek()?.epoch ?? 0,
        ended: isOver(page),
        hovered: this.hoveredNow(),
        selected: page.slice.peek(),
        selectedTask: selection?.kind === "task" ? selection.id : 0,
        nameOf: (task, group) => sliceTitle(page, task, group),
        timeText: (ns) => formatTime(ns).text,
      },
      palette(),
    );
  }

  /** The lanes are made anew with each update: the hovered one is found by what it shows. */
  private hoveredNow(): { lane: Lane; slice: LaneSlice } | null {
    const hover = this.hover.peek();
    if (hover === null) return null;
    const lane = this.shown.find((l) => l.thread === hover.lane.thread && l.task === hover.lane.task);
    return lane === undefined ? null : { lane, slice: hover.slice };
  }

  private laneAt(y: number): Lane | undefined {
    return this.shown.find((lane) => y >= lane.y && y < lane.y + lane.height);
  }

  /** The slice under a place of the canvas; of those that are too narrow the busiest nearby. */
  private sliceAt(lane: Lane, x: number): LaneSlice | null {
    const { from, to } = this.range();
    const perPixel = (to - from) / this.right;
    const instant = from + (x - this.left) * perPixel;
    const row = lane.slices?.rowAt(instant) ?? -1;
    const under = row < 0 ? null : laneSlice(lane.slices!, row);
    const fits = under !== null && (lane.task === 0 || under.task === lane.task);
    if (fits && under.end - under.begin >= 2 * NEAR * perPixel) return under;
    let best: LaneSlice | null = null;
    const near = NEAR * perPixel;
    for (const slice of lanesSlices(lane, instant - near, instant + near)) {
      if (best === null || slice.cpu + slice.blocked > best.cpu + best.blocked) best = slice;
    }
    return best;
  }

  private place(event: MouseEvent): { x: number; y: number } {
    const at = this.host.getBoundingClientRect();
    return { x: event.clientX - at.left, y: event.clientY - at.top };
  }

  private hoverAt(event: PointerEvent): void {
    const { x, y } = this.place(event);
    const lane = this.laneAt(y);
    const slice = lane === undefined || x < this.left || y < AXIS ? null : this.sliceAt(lane, x);
    this.hover.value =
      lane === undefined || slice === null ? null : { lane, slice, x: event.clientX, y: event.clientY };
  }

  private click(event: PointerEvent): void {
    const { page } = this;
    const { x, y } = this.place(event);
    const lane = this.laneAt(y);
    if (lane === undefined) return;
    if (x < this.left) {
      const row = page.store.threads.rowOf(lane.thread);
      const task = lane.task || (page.store.threads.hub[row] ?? 0);
      if (task !== 0) page.selection.value = { kind: "task", id: task };
      page.slice.value = null;
      return;
    }
    const slice = this.sliceAt(lane, x);
    if (slice === null) {
      page.slice.value = null;
      return;
    }
    const chosen = slice.row < 0 ? page.lastingSlice(lane.thread) : page.sliceOf(lane.thread, slice.row);
    if (chosen !== null) page.chooseSlice(chosen);
  }

  private wheel(event: WheelEvent, dx: number, dy: number): void {
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      this.pan((dx || dy) / this.right);
      return;
    }
    const at = Math.min(1, Math.max(0, (this.place(event).x - this.left) / this.right));
    this.setWindow(zoomTime(this.window, this.now, at, 1.0016 ** dy));
  }
}
