import { expect, test } from "../support/test.ts";

test("GIVEN the printed URL WHEN it is opened THEN the page names the program and is live", async ({
  live,
}) => {
  await expect(live.page).toHaveTitle("examples/shop/shop.py · flamelet");
  await expect(live.get("program")).toContainText("shop.py");
  await expect(live.get("hub-card")).toHaveCount(2);
});

test("GIVEN the page WHEN it has connected THEN the token has left the address, and a reload connects again", async ({
  live,
}) => {
  expect(new URL(live.page.url()).hash).toBe("");
  await live.page.reload();
  await expect(live.get("live")).toHaveAttribute("data-state", "live");
  await live.updates(2);
});

test("GIVEN a running program WHEN updates come THEN the numbers move in each view", async ({ live }) => {
  await live.show("flame");
  const waited = await live.text("kind-waited");
  await expect(live.get("kind-waited")).not.toHaveText(waited);

  await live.show("table");
  const table = live.get("functions-table");
  const rows = await table.innerText();
  await expect.poll(() => table.innerText()).not.toBe(rows);

  await live.show("tasks");
  const tasks = live.get("tasks-table");
  const before = await tasks.innerText();
  await expect.poll(() => tasks.innerText()).not.toBe(before);
});

test("GIVEN two pages WHEN both are open THEN both are live", async ({ live, context, shop }) => {
  const other = await context.newPage();
  await other.goto(shop.url);
  await expect(other.getByTestId("live")).toHaveAttribute("data-state", "live");
  await live.updates(3);
});

test("GIVEN a live page WHEN it is frozen THEN it stands still, and goes on afterwards", async ({ live }) => {
  await live.show("flame");
  await live.get("live").click();
  await expect(live.get("live")).toHaveAttribute("data-state", "frozen");
  const waited = await live.text("kind-waited");
  await live.page.waitForTimeout(1_500);
  expect(await live.text("kind-waited")).toBe(waited);
  await live.get("live").click();
  await expect(live.get("kind-waited")).not.toHaveText(waited);
});
