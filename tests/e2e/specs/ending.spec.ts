import { Shop } from "../support/shop.ts";
import { expect, SEED, test } from "../support/test.ts";

test("GIVEN a page WHEN the program ends THEN the page says so and keeps the picture", async ({ view }) => {
  const shop = await Shop.start(SEED);
  try {
    await view.open(shop.url);
    await shop.isOpen();
    await view.show("flame");
    await view.updates(5);
    await shop.stop();

    await expect(view.get("live")).toHaveAttribute("data-state", "ended");
    await expect(view.get("banner")).toContainText("The program ended");
    const items = await view.flameItems();
    expect(items.length).toBeGreaterThan(3);
    const waited = await view.text("kind-waited");
    await view.page.waitForTimeout(2_000);
    expect(await view.flameItems()).toEqual(items);
    expect(await view.text("kind-waited")).toBe(waited);
    await view.show("table");
    await expect(view.get("functions-table").getByRole("row")).not.toHaveCount(0);
  } finally {
    await shop.stop();
  }
});
