import { expect, test } from "../support/test.ts";

/** A background greenlet of the shop: examples/shop/jobs.py. */
const JOB = "refresh_prices";

test.beforeEach(async ({ live }) => {
  await live.show("flame");
  await expect(live.get("scope-list")).toBeVisible();
});

test("GIVEN the list beside the flame WHEN a group is clicked THEN its flame is shown, and that of all comes back", async ({
  live,
}) => {
  await live.page.locator(`[data-group="${JOB}"]`).click();
  await expect(live.get("crumbs")).toHaveText(JOB);
  await expect.poll(async () => (await live.flameItems())[0]).toMatch(new RegExp(`^${JOB}, .* 100\\.0.%$`));

  await live
    .get("scope-list")
    .getByText(/^All tasks/)
    .click();
  await expect(live.get("crumbs")).not.toHaveText(JOB);
  await expect
    .poll(async () => (await live.flameItems()).some((item) => item.startsWith(`${JOB}, `)))
    .toBe(true);
});

test("GIVEN the flame WHEN a name is searched THEN frames and share are told, and Enter goes to a match", async ({
  live,
}) => {
  await live.press("/");
  await live.get("search").fill("build_rows");
  await expect(live.get("search-result")).toHaveText(/^\d+, \d+\.\d.%$/);
  await live.press("Enter");
  await expect(live.get("inspector-name")).toHaveText("build_rows");

  await live.get("search").fill("no_function_has_this_name");
  await expect(live.get("search-result")).toHaveText("none");
  await live.get("search").fill("/(/");
  await expect(live.get("search-result")).toHaveText("not a regex");
});

test("GIVEN a frame that was zoomed into WHEN updates come THEN zoom and selection stay; Esc takes both back", async ({
  live,
}) => {
  await live.press("/");
  await live.get("search").fill("build_rows");
  await live.press("Enter", "Escape", "Escape");
  await expect(live.get("inspector-name")).toHaveText("build_rows");
  await live.get("flame-canvas").focus();
  await live.press("Enter");
  await expect(live.get("crumbs")).toHaveText(/› build_rows$/);
  await live.updates(15);
  await expect(live.get("crumbs")).toHaveText(/› build_rows$/);
  await expect(live.get("inspector-name")).toHaveText("build_rows");

  await live.press("Escape");
  await expect(live.get("crumbs")).not.toHaveText(/build_rows/);
});

test("GIVEN the selected frame WHEN the route goes wrong again THEN its exact numbers grow", async ({
  live,
}) => {
  await live.press("/");
  await live.get("search").fill("build_rows");
  await live.press("Enter");
  await expect(live.get("inspector-name")).toHaveText("build_rows");
  const cpu = await live.text("own-cpu");
  expect(cpu).toMatch(/\d/);
  await expect(live.get("own-cpu")).not.toHaveText(cpu);
});
