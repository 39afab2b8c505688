/** Screenshots for people to look at, in shots/; and what can be said of them without looking. */
import { fileURLToPath } from "node:url";
import { expect, test } from "../support/test.ts";

const SHOTS = fileURLToPath(new URL("../shots/", import.meta.url));
const SIZES = [
  { width: 1440, height: 900 },
  { width: 900, height: 700 },
];
const VIEWS = ["now", "tasks", "flame", "timeline", "table"] as const;

for (const scheme of ["dark", "light"] as const) {
  for (const size of SIZES) {
    const where = `${scheme}-${size.width}x${size.height}`;
    test(`GIVEN ${where} WHEN each view is shown THEN it fits, in the colours of the scheme`, async ({
      live,
    }) => {
      await live.page.emulateMedia({ colorScheme: scheme });
      await live.page.setViewportSize(size);
      for (const view of VIEWS) {
        await live.show(view);
        await live.updates(2);
        if (view === "flame") await expect(live.get("flame-canvas")).toBeVisible();
        await live.page.screenshot({ path: `${SHOTS}${view}-${where}.png` });
        const { over, brightness } = await live.page.evaluate(() => {
          const page = document.documentElement;
          const colour = getComputedStyle(document.body).backgroundColor.match(/\d+(\.\d+)?/g) ?? [];
          const [red = 0, green = 0, blue = 0] = colour.map(Number);
          return {
            over: page.scrollWidth > page.clientWidth || page.scrollHeight > page.clientHeight,
            brightness: (red + green + blue) / 3,
          };
        });
        expect(over, `${view} is larger than the window`).toBe(false);
        if (scheme === "dark") expect(brightness).toBeLessThan(80);
        else expect(brightness).toBeGreaterThan(200);
      }
    });
  }
}

test("GIVEN a choice of theme WHEN the page is opened again THEN it has stayed", async ({ live }) => {
  await live.page.emulateMedia({ colorScheme: "light" });
  const background = () => live.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await live.get("menu").click();
  await live.page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect.poll(background).not.toBe(light);
  const dark = await background();
  await live.page.reload();
  await expect(live.get("live")).toHaveAttribute("data-state", "live");
  await expect.poll(background).toBe(dark);
});
