// One animation frame callback for all canvases: painters ask, and each is painted at most once a frame.

export interface Painter {
  paint(): void;
}

const waiting = new Set<Painter>();
let handle = 0;

function run(): void {
  handle = 0;
  const batch = [...waiting];
  waiting.clear();
  for (const painter of batch) painter.paint();
}

export function requestPaint(painter: Painter): void {
  waiting.add(painter);
  if (handle === 0) handle = requestAnimationFrame(run);
}

export function cancelPaint(painter: Painter): void {
  waiting.delete(painter);
}
