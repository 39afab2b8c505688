import { useEffect } from "preact/hooks";
import { type Command, commandFor, type KeyPress } from "../state/keys.ts";
import type { Page } from "../state/page.ts";
import { selectedFunction } from "../state/selectors.ts";
import type { TimelineController } from "../timeline/controller.ts";

export const SEARCH_ID = "search";

export function useKeyboard(page: Page): void {
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.defaultPrevented) return;
      const command = commandFor({
        key: event.key,
        shift: event.shiftKey,
        modified: event.ctrlKey || event.altKey || event.metaKey,
        focus: focusOf(event.target),
      });
      if (command !== null && run(page, command)) event.preventDefault();
    };
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, [page]);
}

function focusOf(target: EventTarget | null): KeyPress["focus"] {
  if (!(target instanceof HTMLElement)) return "other";
  if (target.matches("input, select, textarea")) return "field";
  return target.matches("button, a, summary") ? "button" : "other";
}

/** False when the command means nothing here: the key is then left to the browser. */
function run(page: Page, command: Command): boolean {
  if (page.timeline !== null) {
    const done = runInTimeline(page.timeline, page, command);
    if (done !== null) return done;
  }
  switch (command) {
    case "now":
    case "tasks":
    case "flame":
    case "timeline":
    case "table":
      page.show(command);
      return true;
    case "search":
      document.getElementById(SEARCH_ID)?.focus();
      return true;
    case "freeze":
      page.setFrozen(!page.frozen.value);
      return true;
    case "cpu":
    case "blocked":
    case "waited":
      page.toggleKind(command);
      return true;
    case "theme":
      page.toggleTheme();
      return true;
    case "help":
      page.sheet.value = !page.sheet.value;
      return true;
    case "list":
      page.listOpen.value = !page.listOpen.value;
      return true;
    case "escape":
      return stepBack(page);
    case "hide": {
      const fn = selectedFunction(page);
      if (fn === 0) return false;
      page.hide(fn);
      return true;
    }
    case "pin":
      if (page.selection.value?.kind !== "task") return false;
      page.togglePin(page.selection.value.id);
      return true;
    case "openFlame":
      return openFlame(page);
    case "openTimeline":
      return openTimeline(page);
    case "enter":
      return enter(page);
    case "zoomOut":
    case "panLeft":
    case "panRight":
    case "fit":
    case "nextLong":
    case "previousLong":
      return false;
    default:
      return move(page, command);
  }
}

/** In the timeline W, S, A and D move the window, as the arrows walk over slices; null: as everywhere. */
function runInTimeline(timeline: TimelineController, page: Page, command: Command): boolean | null {
  switch (command) {
    case "waited":
      timeline.zoom(1 / 1.6);
      return true;
    case "zoomOut":
      timeline.zoom(1.6);
      return true;
    case "panLeft":
      timeline.pan(-0.2);
      return true;
    case "panRight":
      timeline.pan(0.2);
      return true;
    case "left":
      return timeline.step(-1);
    case "right":
      return timeline.step(1);
    case "previousLong":
      return timeline.step(-1, page.threshold());
    case "nextLong":
      return timeline.step(1, page.threshold());
    case "fit":
    case "enter":
      return timeline.fit();
    case "escape":
      if (page.sheet.value || document.activeElement instanceof HTMLInputElement) return null;
      return timeline.stepBack() || null;
    default:
      return null;
  }
}

function openTimeline(page: Page): boolean {
  const selection = page.selection.value;
  const culprit = page.view.value === "now" ? page.report().culprit : null;
  if (culprit !== null) page.openTimeline(culprit.task);
  else if (selection?.kind === "task") page.openTimeline(selection.id);
  else page.show("timeline");
  return true;
}

function stepBack(page: Page): boolean {
  if (page.sheet.value) {
    page.sheet.value = false;
    return true;
  }
  const active = document.activeElement;
  if (active instanceof HTMLInputElement) {
    const query = active.id === SEARCH_ID ? page.activeQuery.value : page.taskQuery;
    if (query.value === "") active.blur();
    else query.value = "";
    return true;
  }
  if (page.view.value === "flame" && page.zoomOut()) return true;
  if (page.activeQuery.value.value !== "") {
    page.activeQuery.value.value = "";
    return true;
  }
  if (page.selection.value === null) return false;
  page.selection.value = null;
  return true;
}

function openFlame(page: Page): boolean {
  const selection = page.selection.value;
  if (page.view.value === "now") {
    const { culprit } = page.report();
    if (culprit === null) page.show("flame");
    else page.openFlame(culprit.group, culprit.path);
    return true;
  }
  if (selection?.kind === "task") page.openTaskFlame(selection.id);
  else if (selection?.kind === "group" && selection.group >= 0) page.openFlame(selection.group);
  else if (selection?.kind === "function") page.openFunctionFlame(selection.fn);
  else page.show("flame");
  return true;
}

function enter(page: Page): boolean {
  if (page.view.value === "flame") {
    const selection = page.selection.value;
    if (selection?.kind !== "frame") return false;
    page.zoomTo({ path: selection.path, lo: 0, hi: 1 });
    return true;
  }
  page.list?.move("enter");
  return page.list !== null;
}

function move(page: Page, to: "left" | "right" | "up" | "down"): boolean {
  if (page.flame !== null) page.flame.move(to);
  else page.list?.move(to);
  return page.flame !== null || page.list !== null;
}
