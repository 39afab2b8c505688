import { Client, type ClientOptions, socketUrl } from "@flamelet/client";
import { Page, type Theme } from "@flamelet/view";
import { FrozenUpdates } from "./frozen-updates.ts";
import { whileVisible } from "./while-visible.ts";

const THEME_KEY = "flamelet theme";
/** Updates per second: enough for strips that move, and little work for the watched program. */
const RATE = 5;
/** ms between questions for other processes. The first is asked by the client when it is connected. */
const ASK_PROCESSES = 5000;
/** With the timeline, which is bulky, only while it is looked at. */
function subscription(timeline: boolean): NonNullable<ClientOptions["subscribe"]> {
  return timeline ? { rate: RATE, what: ["threads", "tasks", "tree", "slices", "timeline"] } : { rate: RATE };
}

/** Makes the page's state, and a client that feeds it. */
export function connect(token: string): Page {
  let timeline = false;
  const waiting = new FrozenUpdates(() => client.subscribe(subscription(timeline)));
  const thaw = (): void => {
    const updates = waiting.take();
    for (const update of updates) page.store.apply(update);
    if (updates.length > 0) page.updated();
  };
  const page: Page = new Page({
    retry: () => client.retry(),
    setFrozen: (frozen) => {
      if (!frozen) thaw();
    },
    watchTimeline: (wanted) => {
      if (wanted === timeline) return;
      timeline = wanted;
      client.subscribe(subscription(wanted));
    },
    askProcesses: () => client.askProcesses(),
    rememberTheme,
  });
  page.theme.value = knownTheme();

  const client = new Client({
    url: socketUrl(location.href),
    token,
    subscribe: subscription(false),
    onSession: (session) => {
      page.session.value = session;
      document.title = `${session.program} · flamelet`;
    },
    onState: (state, { refusal, retryAt }) => {
      page.connection.value = {
        state,
        since: page.connection.value.state === state ? page.connection.value.since : Date.now(),
        ...(retryAt === undefined ? {} : { retryAt }),
        ...(refusal === undefined ? {} : { refusal }),
      };
      // A frozen picture of a program that is gone would never change again: show its end.
      if (state !== "live" && page.frozen.value) page.setFrozen(false);
    },
    onUpdate: (update) => {
      if (page.frozen.value) {
        waiting.push(update);
        return;
      }
      page.store.apply(update);
      page.updated();
    },
    onProcesses: (processes) => {
      page.processes.value = processes === null ? null : { processes, at: Date.now() };
    },
  });
  client.start();
  whileVisible(document, ASK_PROCESSES, () => client.askProcesses());
  return page;
}

function knownTheme(): Theme | null {
  try {
    const theme = localStorage.getItem(THEME_KEY);
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null; // storage is forbidden: the system's theme will do
  }
}

function rememberTheme(theme: Theme | null): void {
  try {
    if (theme === null) localStorage.removeItem(THEME_KEY);
    else localStorage.setItem(THEME_KEY, theme);
  } catch {
    // storage is forbidden: the choice lasts as long as the page
  }
}
