import { formatCount, formatPercent } from "@flamelet/model";
import type { JSX } from "preact";
import { Logo, SearchIcon } from "../parts/marks.tsx";
import { usePage } from "../state/context.ts";
import { type Theme, VIEWS } from "../state/page.ts";
import { SEARCH_ID } from "./keyboard.ts";
import { Program } from "./process-menu.tsx";

export function Header(): JSX.Element {
  const page = usePage();
  return (
    <header class="top">
      <h1 class="brand">
        <Logo />
        flamelet
      </h1>
      <Program />
      <div class="tabs" role="tablist" aria-label="Views">
        {VIEWS.map((view, i) => (
          <button
            key={view.name}
            type="button"
            role="tab"
            data-testid={`tab-${view.name}`}
            aria-selected={page.view.value === view.name}
            aria-controls="view"
            title={`${view.title} (${i + 1})`}
            onClick={() => page.show(view.name)}
          >
            {view.title}
          </button>
        ))}
      </div>
      <span class="fill" />
      <SearchField />
      <LiveButton />
      <Menu />
    </header>
  );
}

function SearchField(): JSX.Element {
  const page = usePage();
  const query = page.activeQuery.value;
  const tasks = query === page.taskQuery;
  return (
    <search>
      <label class="field find">
        <SearchIcon />
        <input
          id={SEARCH_ID}
          data-testid="search"
          aria-label={tasks ? "Filter tasks" : "Search functions"}
          aria-describedby="search-result"
          placeholder={
            page.narrow.value
              ? "Search"
              : tasks
                ? "Task, for:Queue.get, state:waiting, >1s"
                : "Function or file, /regex/"
          }
          spellcheck={false}
          autocomplete="off"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            if (page.view.value === "now" && query.value !== "") page.show("flame");
            else if (page.view.value === "flame") page.selectNextMatch();
            else event.currentTarget.blur();
          }}
        />
        <SearchResult />
        <kbd>/</kbd>
      </label>
    </search>
  );
}

function SearchResult(): JSX.Element | null {
  const page = usePage();
  const view = page.view.value;
  if (page.query.value === "" || (view !== "flame" && view !== "table")) return null;
  page.refreshTree();
  if (page.search.error !== "") {
    return (
      <span id="search-result" data-testid="search-result" class="hits bad" title={page.search.error}>
        not a regex
      </span>
    );
  }
  const { frames, share } = page.search.result(page.kinds.value);
  return (
    <span
      id="search-result"
      data-testid="search-result"
      class="hits"
      title={`${formatCount(frames)} frames match; their share of the shown time, each moment once`}
    >
      {frames === 0 ? "none" : `${formatCount(frames)}, ${formatPercent(share).text}`}
    </span>
  );
}

function LiveButton(): JSX.Element {
  const page = usePage();
  const { state } = page.connection.value;
  const shown = state === "live" && page.frozen.value ? "frozen" : state;
  const stopped = state === "live" && page.store.status?.state === "stopped";
  return (
    <button
      type="button"
      class="btn live"
      data-testid="live"
      data-state={shown}
      aria-pressed={page.frozen.value}
      title={
        shown === "frozen"
          ? "The picture stands still while the program goes on. Go live (Space)"
          : "Freeze the picture (Space); the program goes on"
      }
      onClick={() => page.setFrozen(!page.frozen.value)}
    >
      {stopped && shown === "live" ? "Stopped" : LIVE_WORDS[shown]}
    </button>
  );
}

const LIVE_WORDS: Readonly<Record<string, string>> = {
  connecting: "Connecting",
  live: "Live",
  frozen: "Frozen",
  lost: "Offline",
  ended: "Ended",
  refused: "Refused",
};

function Menu(): JSX.Element {
  const page = usePage();
  const theme = page.theme.value;
  const choice = (value: Theme | null, title: string): JSX.Element => (
    <button
      type="button"
      role="menuitemradio"
      aria-checked={theme === value}
      popovertarget="menu"
      onClick={() => page.setTheme(value)}
    >
      <span class="check">{theme === value ? "✓" : ""}</span>
      {title}
    </button>
  );
  return (
    <>
      <button
        type="button"
        class="btn"
        data-testid="menu"
        aria-label="Theme and keys"
        title="Theme and keys"
        popovertarget="menu"
      >
        ⋯
      </button>
      <div id="menu" class="menu" popover="auto" role="menu" aria-label="Theme and keys">
        {choice(null, "System theme")}
        {choice("dark", "Dark")}
        {choice("light", "Light")}
        <hr />
        <button
          type="button"
          role="menuitem"
          popovertarget="menu"
          onClick={() => {
            page.sheet.value = true;
          }}
        >
          <span class="check" />
          Keys <span class="fill" /> <kbd>?</kbd>
        </button>
      </div>
    </>
  );
}
