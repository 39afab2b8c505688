/** `test` with a shop that the tests of a file share, and a live view that is watched. */
import { test as base, expect } from "@playwright/test";
import { LiveView } from "./live-view.ts";
import { Shop } from "./shop.ts";

export { expect };

/** Draws a sort in the route /report. */
export const SEED = 9;

interface OfTest {
  /** Not opened yet. After the test: nothing was complained about, and nothing was asked of another origin. */
  view: LiveView;
  /** The view, opened on `shop`. */
  live: LiveView;
}

interface OfWorker {
  shop: Shop;
}

export const test = base.extend<OfTest, OfWorker>({
  shop: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern which fixtures are needed
    async ({}, use) => {
      const shop = await Shop.start(SEED);
      await shop.isOpen();
      await use(shop);
      await shop.stop();
    },
    { scope: "worker" },
  ],
  view: async ({ page }, use) => {
    const view = new LiveView(page);
    await use(view);
    expect(view.complaints).toEqual([]);
    expect([...view.origins].length, [...view.origins].join(" ")).toBeLessThanOrEqual(1);
  },
  live: async ({ view, shop }, use) => {
    await view.open(shop.url);
    await expect(view.get("live")).toHaveAttribute("data-state", "live");
    await use(view);
  },
});
