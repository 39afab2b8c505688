import { cancelPaint, type Painter, requestPaint } from "./loop.ts";
import { onPaletteChange } from "./palette.ts";

export type Draw = (g: CanvasRenderingContext2D, width: number, height: number) => void;

/**
 * A canvas that fills its host at the screen's own resolution. It is placed absolutely (by the stylesheet), so it never
 * feeds back into the host's size. It paints only when asked, when its size or the theme changes, and once when made, so that a
 * view is never blank until an observer wakes up. Sizes given to `draw` are CSS pixels.
 */
export class Surface implements Painter {
  readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly sizes: ResizeObserver;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly host: HTMLElement,
    private readonly draw: Draw,
  ) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    const context = this.canvas.getContext("2d", { alpha: true });
    if (context === null) throw new Error("this browser has no canvas 2D");
    this.context = context;
    host.append(this.canvas);
    this.sizes = new ResizeObserver(() => this.paint());
    this.sizes.observe(host);
    this.unsubscribe = onPaletteChange(() => this.invalidate());
    this.paint();
  }

  get width(): number {
    return this.host.clientWidth;
  }

  get height(): number {
    return this.host.clientHeight;
  }

  invalidate(): void {
    requestPaint(this);
  }

  paint(): void {
    const { width, height } = this;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    const w = Math.round(width * ratio);
    const h = Math.round(height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.draw(this.context, width, height);
  }

  dispose(): void {
    cancelPaint(this);
    this.sizes.disconnect();
    this.unsubscribe();
    this.canvas.remove();
  }
}
