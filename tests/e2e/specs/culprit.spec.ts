import type { LiveView } from "../support/live-view.ts";
import { type Mistake, Shop } from "../support/shop.ts";
import { expect, test } from "../support/test.ts";

/** Seeds that draw each kind once, and each route. What a seed draws, the shop itself tells at its end. */
const SEEDS = { c_call: 2, unpatched_sleep: 7, cpu_loop: 4, foreign_lock: 38, big_sort: 9 };
const LIMIT = 10_000;
const SECONDS = 14;

/** What the page said when. */
interface Saying {
  /** ms after the shop has opened. */
  at: number;
  /** The whole sentence. */
  sentence: string;
  /** The user's function that it blames, and "file:line" of it. */
  function: string;
  place: string;
}

async function read(view: LiveView, at: number): Promise<Saying> {
  return view.get("culprit").evaluate((line, at) => {
    const first = (role: string) => line.querySelector(`[data-role=${role}]`)?.textContent ?? "";
    const sentence = (line as HTMLElement).innerText.replaceAll("\n", " ");
    return { at, sentence, function: first("place") || first("actor"), place: first("file") };
  }, at);
}

function blames(saying: Saying, mistake: Mistake): boolean {
  return (
    saying.function === mistake.function &&
    `${mistake.file}:${mistake.line}`.endsWith(`/${saying.place.trim()}`)
  );
}

for (const [kind, seed] of Object.entries(SEEDS)) {
  test(`GIVEN the mistake ${kind} WHEN the shop runs THEN the page names the culprit within ten seconds`, async ({
    view,
  }) => {
    const shop = await Shop.start(seed, SECONDS);
    try {
      await view.open(shop.url);
      await shop.isOpen();
      const sayings: Saying[] = [];
      while ((await view.get("live").getAttribute("data-state")) === "live") {
        sayings.push(await read(view, Date.now() - shop.opened));
        await view.page.waitForTimeout(100);
      }
      await expect(view.get("banner")).toContainText("The program ended");
      const mistake = await shop.ended(20_000);
      expect(mistake.kind).toBe(kind);

      const first = sayings.find((saying) => blames(saying, mistake));
      const heard = [...new Set(sayings.map((saying) => saying.sentence))].join("\n");
      expect(first, `admitted: ${JSON.stringify(mistake)}; the page said:\n${heard}`).toBeDefined();
      console.log(`      ${kind}: named after ${first?.at} ms: ${first?.sentence}`);
      expect(first?.at).toBeLessThan(LIMIT);
      // From then on it blames nobody else. It may say that no hub was held often enough yet.
      const others = sayings.filter((saying) => saying.at > (first?.at ?? 0) && saying.function !== "");
      expect(others.filter((saying) => !blames(saying, mistake))).toEqual([]);
      const last = await read(view, Number.POSITIVE_INFINITY);
      expect(blames(last, mistake), last.sentence).toBe(true);
    } finally {
      await shop.stop();
    }
  });
}
