import { batch, effect, type Signal, signal, untracked } from "@preact/signals";
import { rememberedMeasure } from "../canvas/cut.ts";
import { paintFlame } from "../canvas/flame-painter.ts";
import {
  boxAt,
  contentHeight,
  easeOut,
  type FlameWindow,
  panBy,
  ROW_PITCH,
  zoomAround,
  zoomWindow,
} from "../canvas/flame-window.ts";
import { palette } from "../canvas/palette.ts";
import { followPointer } from "../canvas/pointer.ts";
import { Surface } from "../canvas/surface.ts";
import { type Page, WHOLE } from "../state/page.ts";
import { firstRow, scopeName, selectedFunction, selectedNode } from "../state/selectors.ts";

/** ms; the only animation of geometry in the page. */
const ZOOM_TIME = 140;

export interface Hover {
  node: number;
  /** Of the pointer, in the window's CSS pixels. */
  x: number;
  y: number;
}

/** The flame on its canvas: paints it, and turns pointer, wheel and keys into zoom and selection. */
export class FlameController {
  readonly hover: Signal<Hover | null> = signal(null);
  private readonly surface: Surface;
  private readonly measure;
  private readonly view: FlameWindow = { from: 0, to: 1, width: 1, top: 0, firstRow: 0 };
  private animation: { from: number; to: number; begin: number } | null = null;
  private laidOut = "";
  private fills: string[] = [];
  private fillsFor: unknown = null;
  private readonly undo: (() => void)[] = [];

  constructor(
    private readonly page: Page,
    private readonly host: HTMLElement,
  ) {
    const scratch = document.createElement("canvas").getContext("2d");
    if (scratch === null) throw new Error("this browser has no canvas 2D");
    scratch.font = `11px ${palette().font}`;
    this.measure = rememberedMeasure(scratch);
    this.surface = new Surface(host, (g, width, height) => this.paint(g, width, height));
    let zoom = page.zoom.peek();
    this.undo.push(
      followPointer(host, ROW_PITCH, {
        drags: "xy",
        drag: (dx, dy) => this.drag(dx, dy),
        click: (event) => this.click(event),
        hover: (event) => this.hoverAt(event),
        leave: () => this.setHover(null),
        wheel: (event, dx, dy) => this.wheel(event, dx, dy),
      }),
      effect(() => {
        if (page.zoom.value === zoom) return;
        const samePlace = zoom.path === page.zoom.value.path;
        zoom = page.zoom.value;
        if (!samePlace) this.animate();
        this.surface.invalidate();
      }),
      effect(() => {
        void [page.updates.value, page.kinds.value, page.scope.value, page.hidden.value, page.hideIdle.value];
        void [page.query.value, page.colourBy.value, page.order.value];
        this.surface.invalidate();
      }),
      effect(() => {
        // What reveal() reads and zooms must not make this effect run again.
        if (page.selection.value !== null) untracked(() => this.reveal());
        this.surface.invalidate();
      }),
    );
  }

  dispose(): void {
    for (const undo of this.undo) undo();
    this.surface.dispose();
  }

  /** Moves the selection: beside in its row, to the caller, to the largest callee. */
  move(direction: "left" | "right" | "up" | "down"): void {
    const { page } = this;
    const { tree, icicle } = page;
    page.refreshTree();
    const node = selectedNode(page);
    if (node < 0) {
      const first = this.view.firstRow === 0 ? 0 : (tree.children(0)[0] ?? 0);
      this.select(first);
      return;
    }
    if (direction === "up") {
      const parent = tree.parent[node]!;
      if (parent >= 0 && tree.depth[parent]! >= this.view.firstRow) this.select(parent);
    } else if (direction === "down") {
      const kinds = page.kinds.value;
      let best = -1;
      for (const child of tree.children(node)) {
        const total = tree.totalOf(child, kinds);
        if (total > 0 && (best < 0 || total > tree.totalOf(best, kinds))) best = child;
      }
      if (best >= 0) this.select(best);
    } else {
      const box = icicle.boxOf(node);
      const row = tree.depth[node]!;
      const next = direction === "left" ? box - 1 : box + 1;
      if (box >= 0 && next >= icicle.rowStart[row]! && next < icicle.rowStart[row + 1]!) {
        this.select(icicle.node[next]!);
      }
    }
  }

  select(node: number): void {
    this.page.selection.value = { kind: "frame", path: this.page.tree.path(node) };
  }

  private animate(): void {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.animation = still ? null : { from: this.view.from, to: this.view.to, begin: performance.now() };
    this.revealRow(this.page.tree.findPath(this.page.zoom.peek().path));
  }

  /** Brings the selected frame into sight, when it was selected from elsewhere or by a key. */
  private reveal(): void {
    const { page } = this;
    const selection = page.selection.peek();
    if (selection?.kind !== "frame") return;
    const node = page.tree.findPath(selection.path);
    if (node < 0) return;
    this.revealRow(node);
    // Beside what is zoomed: out to the frame that holds both.
    const { path } = page.zoom.peek();
    const both = commonPath(path, selection.path);
    if (both.length < Math.min(path.length, selection.path.length)) page.zoomTo({ path: both, lo: 0, hi: 1 });
  }

  private revealRow(node: number): void {
    if (node < 0) return;
    const { view } = this;
    const y = (this.page.tree.depth[node]! - view.firstRow) * ROW_PITCH;
    const height = this.surface.height;
    if (y < view.top + 2 * ROW_PITCH) view.top = Math.max(0, y - 3 * ROW_PITCH);
    else if (y + 2 * ROW_PITCH > view.top + height) view.top = y + 4 * ROW_PITCH - height;
  }

  private paint(g: CanvasRenderingContext2D, width: number, height: number): void {
    const { page, view } = this;
    const { tree, icicle } = page;
    page.refreshTree();
    view.width = width;
    view.firstRow = firstRow(page);
    this.placeWindow(width);
    this.hoverAgain();
    const limit = Math.max(0, contentHeight(icicle.rows, view.firstRow) - height);
    view.top = Math.min(Math.max(0, view.top), limit);
    const colours = palette();
    const kinds = page.kinds.value;
    paintFlame(
      g,
      height,
      {
        tree,
        icicle,
        kinds,
        view,
        colourBy: page.colourBy.value,
        fillOf: (fn) => this.fillOf(fn),
        rootName: scopeName(page),
        nameOf: (fn) => page.store.functions.qualnameOf(fn),
        matches: page.search.active ? (fn) => page.search.matchesFunction(fn) : null,
        selected: selectedNode(page),
        hovered: this.hover.peek()?.node ?? -1,
        sameFunction: selectedFunction(page),
      },
      colours,
      this.measure,
    );
    if (limit > 0) {
      const size = Math.max(24, (height / (height + limit)) * height);
      g.fillStyle = colours.strong;
      g.fillRect(width - 5, (view.top / limit) * (height - size), 4, size);
    }
    if (this.animation !== null) this.surface.invalidate();
  }

  /** Sets the window from the zoom (and its animation) and lays out what it shows. */
  private placeWindow(width: number): void {
    const { page, view } = this;
    const zoom = page.zoom.peek();
    this.layout(width);
    const node = zoom.path.length === 0 ? 0 : page.tree.findPath(zoom.path);
    const target = zoomWindow(page.icicle.span(Math.max(0, node)), zoom.lo, zoom.hi);
    let { from, to } = target;
    if (this.animation !== null) {
      const t = (performance.now() - this.animation.begin) / ZOOM_TIME;
      if (t >= 1) this.animation = null;
      else {
        const part = easeOut(t);
        from = this.animation.from + (target.from - this.animation.from) * part;
        to = this.animation.to + (target.to - this.animation.to) * part;
      }
    }
    if (from === view.from && to === view.to) return;
    view.from = from;
    view.to = to;
    this.layout(width);
  }

  private layout(width: number): void {
    const { page, view } = this;
    const kinds = page.kinds.value;
    const order = page.order.value;
    const what = [
      page.tree.revision,
      page.store.generation,
      page.scope.value,
      kinds.cpu,
      kinds.blocked,
      kinds.waited,
      kinds.idle,
      order,
      view.from,
      view.to,
      width,
    ].join();
    if (what === this.laidOut) return;
    this.laidOut = what;
    // A quarter of a pixel: what is narrower can't add up to a column that anybody sees.
    const minWidth = (0.25 / Math.max(1, width)) * (view.to - view.from);
    page.icicle.layout({ kinds, order, from: view.from, to: view.to, minWidth });
  }

  private fillOf(fn: number): string {
    const colours = palette();
    const key = colours;
    if (this.fillsFor !== key || this.fills.length > this.page.store.functions.size) {
      this.fills = [];
      this.fillsFor = key;
    }
    let fill = this.fills[fn];
    if (fill === undefined) {
      fill = this.page.colours.fill(fn, colours);
      this.fills[fn] = fill;
    }
    return fill;
  }

  /** Tree node at a place of the window, -1: none. */
  private nodeAt(clientX: number, clientY: number): number {
    const at = this.host.getBoundingClientRect();
    const box = boxAt(this.page.icicle, this.view, clientX - at.left, clientY - at.top);
    return box < 0 ? -1 : this.page.icicle.node[box]!;
  }

  /** What lies under a pointer that rests while the picture changes. */
  private hoverAgain(): void {
    const hover = this.hover.peek();
    if (hover === null) return;
    const node = this.animation === null ? this.nodeAt(hover.x, hover.y) : -1;
    if (node !== hover.node) this.hover.value = node < 0 ? null : { ...hover, node };
  }

  private setHover(hover: Hover | null): void {
    const before = this.hover.peek()?.node ?? -1;
    this.hover.value = hover;
    if ((hover?.node ?? -1) !== before) this.surface.invalidate();
  }

  private hoverAt(event: PointerEvent): void {
    const node = this.page.store.version === 0 ? -1 : this.nodeAt(event.clientX, event.clientY);
    this.setHover(node < 0 ? null : { node, x: event.clientX, y: event.clientY });
  }

  private drag(dx: number, dy: number): void {
    this.view.top -= dy;
    this.pan(-dx / this.view.width);
    this.setHover(null);
    this.surface.invalidate();
  }

  private click(event: PointerEvent): void {
    const { page } = this;
    const node = this.nodeAt(event.clientX, event.clientY);
    if (node < 0) {
      page.selection.value = null;
      return;
    }
    batch(() => {
      this.select(node);
      page.zoomTo(node === 0 ? WHOLE : { path: page.tree.path(node), lo: 0, hi: 1 });
    });
  }

  private pan(by: number): void {
    const zoom = this.page.zoom.peek();
    if (zoom.lo > 0 || zoom.hi < 1) {
      this.page.zoom.value = { path: zoom.path, ...panBy(zoom.lo, zoom.hi, by) };
    }
  }

  private wheel(event: WheelEvent, dx: number, dy: number): void {
    const { page, view, host } = this;
    if (event.ctrlKey || event.altKey) {
      const at = (event.clientX - host.getBoundingClientRect().left) / view.width;
      const { path, lo, hi } = page.zoom.peek();
      page.zoom.value = { path, ...zoomAround(lo, hi, at, 1.0016 ** dy) };
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      this.pan((dx || dy) / view.width);
    } else {
      view.top += dy;
    }
    this.setHover(null);
    this.surface.invalidate();
  }
}

/** The calls that two paths begin with. */
function commonPath(a: readonly number[], b: readonly number[]): number[] {
  const differ = a.findIndex((fn, i) => fn !== b[i]);
  return a.slice(0, differ < 0 ? a.length : differ);
}
