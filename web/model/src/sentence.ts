/** The sentence that answers "what is wrong?", in parts, so that a view can weigh and link them. */
import { MIN_LASTING } from "./culprit.ts";
import { gilWaitOfHolder } from "./gil-waits.ts";
import type { Holder } from "./holders.ts";
import type { Modules } from "./modules.ts";
import { formatDuration, formatPercent } from "./numbers.ts";
import type { Store } from "./store.ts";

export interface SentencePart {
  text: string;
  /** `file` is for views only; the plain sentence leaves it out. */
  role: "actor" | "hub" | "share" | "place" | "file" | "plain";
}

/** From this share of the time on, blocked means waiting for the GIL. */
const MOSTLY = 0.5;

const plain = (text: string): SentencePart => ({ text, role: "plain" });

/** `some`: hubs were held, but not often enough. */
export function describeQuiet(store: Store, threshold: number, some: boolean): SentencePart[] {
  if (!store.threads.hub.some((hub, row) => row < store.threads.size && hub !== 0)) {
    return [plain("No hub has been seen yet.")];
  }
  const often = some ? " often enough to matter" : "";
  return [plain(`No hub was held for more than ${formatDuration(threshold)}${often}.`)];
}

/** "report holds hub 1 for 180 ms each time, 16.2 % of its time: 142 ms blocked in build_rows › Cursor.execute" */
export function describeCulprit(store: Store, holder: Holder, modules: Modules): SentencePart[] {
  const { functions, threads } = store;
  const lasts = holder.lasting > MIN_LASTING;
  const scale = lasts ? holder.lasting / holder.held : 1 / holder.count;
  const cpu = holder.cpu * scale;
  const blocked = holder.blocked * scale;
  const main = formatDuration(Math.max(cpu, blocked));
  const hub = threads.hubName(threads.rowOf(holder.thread));
  return [
    { text: functions.qualnameOf(holder.actor) || "Something", role: "actor" },
    plain(lasts ? " has held " : " holds "),
    { text: hub, role: "hub" },
    ...(lasts
      ? [plain(` for ${formatDuration(holder.lasting)} and still does`)]
      : [
          plain(` for ${formatDuration(holder.mean)}${holder.count > 1 ? " each time" : ""}, `),
          { text: formatPercent(holder.share).text, role: "share" } as const,
          plain(" of its time"),
        ]),
    plain(`: ${main} ${cpu > blocked ? "on the CPU" : waitsForGil(store, holder) || "blocked"}`),
    ...describePlace(store, holder, modules),
  ];
}

/** "waiting for the GIL, held by thread pool-1,"; "" when that is not what most of the time went to. */
function waitsForGil(store: Store, holder: Holder): string {
  const { waited, holder: other } = gilWaitOfHolder(store, holder);
  if (waited === 0 || waited < MOSTLY * holder.blocked) return "";
  return `waiting for the GIL, held by ${store.threads.called(other)},`;
}

/** The innermost own function, which is where to mend it, and what it called; neither if the actor is that already. */
function describePlace(store: Store, holder: Holder, modules: Modules): SentencePart[] {
  const own = holder.path.findLast((fn) => modules.of(fn).origin === "own") ?? holder.actor;
  const names = [own, holder.place].filter(
    (fn, i, all) => fn !== 0 && fn !== holder.actor && all.indexOf(fn) === i,
  );
  const parts = names.flatMap((fn, i): SentencePart[] => [
    plain(i === 0 ? " in " : " › "),
    { text: store.functions.qualnameOf(fn), role: "place" },
  ]);
  const file = modules.shortPlace(own);
  return file === "" ? parts : [...parts, plain(" "), { text: file, role: "file" }];
}
