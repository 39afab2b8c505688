import type { JSX } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { refreshPalette } from "../canvas/palette.ts";
import { FlameView } from "../flame/flame-view.tsx";
import { NowView } from "../now/now-view.tsx";
import { PageContext, usePage } from "../state/context.ts";
import type { Page } from "../state/page.ts";
import { TableView } from "../table/table-view.tsx";
import { TasksView } from "../tasks/tasks-view.tsx";
import { TimelineView } from "../timeline/timeline-view.tsx";
import { Announcer } from "./announcer.tsx";
import { Banner } from "./banner.tsx";
import { Footer } from "./footer.tsx";
import { FullPageState, fullPageState } from "./full-page.tsx";
import { Header } from "./header.tsx";
import { HubBar } from "./hub-bar.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { useKeyboard } from "./keyboard.ts";

const NARROW = "(max-width: 1179px)";

/** The whole page. `page` holds what it shows; whoever makes it feeds the store and calls page.updated(). */
export function FlameletPage({ page }: { page: Page }): JSX.Element {
  useSurroundings(page);
  useKeyboard(page);
  return (
    <PageContext.Provider value={page}>
      <Frame />
    </PageContext.Provider>
  );
}

function Frame(): JSX.Element {
  const page = usePage();
  const state = fullPageState(page);
  return (
    <div class="frame" data-testid="frame" data-version={page.store.version}>
      <Header />
      {state === null ? <Banner /> : null}
      {state === null && page.view.value !== "now" ? <HubBar /> : null}
      <main id="view" aria-label={page.view.value} tabIndex={-1}>
        {state === null ? <View /> : <FullPageState state={state} />}
      </main>
      <Footer />
      <KeySheet />
      <Announcer />
    </div>
  );
}

function View(): JSX.Element {
  switch (usePage().view.value) {
    case "tasks":
      return <TasksView />;
    case "flame":
      return <FlameView />;
    case "timeline":
      return <TimelineView />;
    case "table":
      return <TableView />;
    default:
      return <NowView />;
  }
}

/** Theme, contrast, resolution and width of the window. */
function useSurroundings(page: Page): void {
  const theme = page.theme.value;
  // Before the first paint of canvases, which read colours from the document.
  useLayoutEffect(() => {
    if (theme === null) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    refreshPalette();
  }, [theme]);
  useLayoutEffect(() => {
    const narrow = window.matchMedia(NARROW);
    const look = (): void => {
      page.narrow.value = narrow.matches;
    };
    look();
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, [page]);
  useEffect(() => {
    const queries = [
      "(prefers-color-scheme: dark)",
      "(prefers-contrast: more)",
      `(resolution: ${window.devicePixelRatio}dppx)`,
    ];
    const lists = queries.map((query) => window.matchMedia(query));
    for (const list of lists) list.addEventListener("change", refreshPalette);
    return () => {
      for (const list of lists) list.removeEventListener("change", refreshPalette);
    };
  }, []);
}
