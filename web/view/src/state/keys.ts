// The keyboard in one table: what the sheet (?) shows is what works.

export type Command =
  | "now"
  | "tasks"
  | "flame"
  | "timeline"
  | "table"
  | "search"
  | "freeze"
  | "cpu"
  | "blocked"
  | "waited"
  | "enter"
  | "escape"
  | "left"
  | "right"
  | "up"
  | "down"
  | "hide"
  | "openFlame"
  | "openTimeline"
  | "zoomOut"
  | "panLeft"
  | "panRight"
  | "fit"
  | "nextLong"
  | "previousLong"
  | "pin"
  | "theme"
  | "help"
  | "list";

export interface KeyPress {
  key: string;
  shift: boolean;
  /** Ctrl, Alt or Meta: those belong to the browser. */
  modified: boolean;
  /** Where the focus is: keys that write or press something are left to it. */
  focus: "field" | "button" | "other";
}

export interface KeyLine {
  keys: readonly string[];
  does: string;
}

export const KEY_SHEET: readonly KeyLine[] = [
  { keys: ["1", "2", "3", "4", "5"], does: "Now, Tasks, Flame, Timeline, Table" },
  { keys: ["/"], does: "Search; Esc empties, then leaves" },
  { keys: ["Space"], does: "Freeze, go live" },
  { keys: ["C", "B", "W"], does: "Count cpu, blocked, waited" },
  { keys: ["Alt click"], does: "Count only that kind" },
  { keys: ["Enter"], does: "Zoom into the frame, open the row" },
  { keys: ["Esc"], does: "Zoom out, then selection off" },
  { keys: ["←", "→"], does: "Frame beside; fold, unfold a group" },
  { keys: ["↑", "↓"], does: "Caller, callee; row above, below" },
  { keys: ["X"], does: "Hide the function" },
  { keys: ["F", "T"], does: "Its flame, its timeline" },
  { keys: ["P"], does: "Pin the task" },
  { keys: ["L"], does: "List beside the flame" },
  { keys: ["W", "S", "A", "D"], does: "Timeline: zoom, pan; arrows: slices" },
  { keys: ["N"], does: "Timeline: next long slice; with Shift the one before" },
  { keys: ["Z"], does: "Timeline: fit the slice" },
  { keys: ["Shift", "D"], does: "Dark or light" },
  { keys: ["?"], does: "This sheet" },
];

const PLAIN: Readonly<Record<string, Command>> = {
  "1": "now",
  "2": "tasks",
  "3": "flame",
  "4": "timeline",
  "5": "table",
  "/": "search",
  " ": "freeze",
  "?": "help",
  c: "cpu",
  b: "blocked",
  w: "waited",
  x: "hide",
  f: "openFlame",
  t: "openTimeline",
  s: "zoomOut",
  a: "panLeft",
  d: "panRight",
  z: "fit",
  n: "nextLong",
  p: "pin",
  l: "list",
  Enter: "enter",
  Escape: "escape",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** What a key press asks for, or null when it is not ours. */
export function commandFor(press: KeyPress): Command | null {
  if (press.modified) return null;
  if (press.focus === "field") return press.key === "Escape" ? "escape" : null;
  if (press.focus === "button" && (press.key === " " || press.key === "Enter")) return null;
  if (press.shift) {
    if (press.key === "D" || press.key === "d") return "theme";
    if (press.key === "N" || press.key === "n") return "previousLong";
    return press.key === "?" || press.key === "/" ? (PLAIN[press.key] ?? null) : null;
  }
  return PLAIN[press.key.length === 1 ? press.key.toLowerCase() : press.key] ?? null;
}
