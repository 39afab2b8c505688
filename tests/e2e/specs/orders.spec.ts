/** What needs more than the shop: a start in the middle, labels, and a thread that keeps the GIL. */
import { Program } from "../support/program.ts";
import { expect, test } from "../support/test.ts";

let orders: Program;

test.beforeAll(async () => {
  orders = await Program.start(["python"], "orders.py");
});
test.afterAll(async () => {
  await orders.stop();
});
test.beforeEach(async ({ view }) => {
  await view.open(orders.url);
  await expect(view.get("live")).toHaveAttribute("data-state", "live");
});

test("GIVEN a busy program WHEN it is watched THEN the page says what flamelet costs its hub, and how it knows", async ({
  view,
}) => {
  await expect(view.get("own-cost")).toHaveText(/^flamelet costs about [\d.]+.% of hub 1$/);
  const title = await view.get("own-cost").getAttribute("title");
  const [, calls = "", switches = ""] =
    /\n([\d,]+) calls and ([\d,]+) switches a second/.exec(title ?? "") ?? [];
  // Eight tasks that count to 1,500 again and again.
  expect(Number(calls.replaceAll(",", ""))).toBeGreaterThan(10_000);
  expect(Number(switches.replaceAll(",", ""))).toBeGreaterThan(10);
});

test("GIVEN a frame that was there before profiling was started WHEN it is selected THEN it says so, and counts no call", async ({
  view,
}) => {
  await view.show("flame");
  await view.press("/");
  await view.get("search").fill("take_orders");
  await view.press("Enter");
  await expect(view.get("inspector-name")).toHaveText("take_orders");
  await expect(view.get("seeded")).toHaveText("1 entered before the start");
  await expect(
    view
      .get("inspector")
      .locator("dt", { hasText: /^calls$/ })
      .locator("+ dd"),
  ).toHaveText("·");
  // What it called after the start is a call like any other.
  await view.get("search").fill("weigh");
  await view.press("Enter");
  await expect(view.get("inspector-name")).toHaveText(/^weigh/);
  await expect(view.get("seeded")).toHaveCount(0);
});

test("GIVEN labels WHEN tasks are listed THEN each label is a group of its own, and the search finds it", async ({
  view,
}) => {
  await view.show("tasks");
  for (const label of ["books", "music"]) {
    await expect(view.page.locator(`[data-group='pack [${label}]']`)).toContainText("4 tasks");
  }
  await view.press("/");
  await view.get("search").fill("music");
  await expect(view.get("task-count")).toHaveText(/^4 of \d+ tasks$/);
  await expect(view.page.locator("[data-group='pack [books]']")).toHaveCount(0);
});

test("GIVEN the timeline WHEN it is shown THEN it tells who had the hub when, and a slice leads to its task", async ({
  view,
}) => {
  await view.show("timeline");
  const first = view.get("longest-slices").getByRole("button").first();
  await expect(first).toContainText(/pack \[(books|music)\]/);
  await first.click();
  await expect(view.get("slice")).toContainText(/^Slice of [\d.]+.?(ms|µs|s) hub 1/);
  await expect(view.get("inspector-name")).toHaveText(/^pack \[(books|music)\] #\d+$/);
  // The window around it, so that the pointer can hit it on the canvas.
  await view.press("z");
  await expect(view.get("timeline-follow")).toHaveAttribute("aria-pressed", "false");
  const canvas = await view.get("timeline-canvas").boundingBox();
  const middle = 184 + ((canvas?.width ?? 0) - 184) / 2;
  await view.page.mouse.move((canvas?.x ?? 0) + middle, (canvas?.y ?? 0) + 40);
  await expect(view.get("timeline-tip")).toContainText(/#\d+ pack \[(books|music)\]/);
  await view.get("timeline-follow").click();
  await view.updates(3);
  await expect(view.get("timeline-follow")).toHaveAttribute("aria-pressed", "true");
});

test("GIVEN a thread that keeps the GIL WHEN others wait for it THEN the page names that thread", async ({
  view,
}) => {
  await expect(view.get("gil-waits")).toContainText("thread archive in sort_archive", { timeout: 30_000 });
});
