import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "../support/test.ts";

test("GIVEN a wrong token WHEN the page opens THEN it says so, and shows nothing of the program", async ({
  view,
  shop,
}) => {
  await view.open(shop.url.replace(/#t=.*/, `#t=${"0".repeat(64)}`));
  await expect(view.get("full-page")).toContainText("This link is not for this program");
  await expect(view.get("live")).toHaveAttribute("data-state", "refused");
  expect(await view.page.locator("body").innerText()).not.toContain("shop.py");
});

test("GIVEN no token WHEN the page opens THEN it says so", async ({ view, shop }) => {
  await view.open(shop.url.replace(/#.*/, ""));
  await expect(view.get("full-page")).toContainText("This link is not for this program");
});

test("GIVEN the page's answer WHEN its headers are read THEN the policy allows its own files only", async ({
  live,
  shop,
}) => {
  const answer = await live.page.request.get(shop.url.replace(/#.*/, ""));
  const policy = answer.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain("unsafe");
  expect(policy).not.toContain("*");
  expect(answer.headers()["access-control-allow-origin"]).toBeUndefined();
});

test("GIVEN the policy WHEN a script of somebody else gets into the page THEN it does not run, and cannot call out", async ({
  live,
}) => {
  let calls = 0;
  const stranger = createServer((_, answer) => {
    calls++;
    answer.setHeader("access-control-allow-origin", "*").end();
  });
  await new Promise<void>((done) => stranger.listen(0, "127.0.0.1", done));
  try {
    const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`;
    const outcome = await live.page.evaluate(async (url) => {
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      document.body.append(script);
      const image = new Image();
      image.src = url;
      const fetched = await fetch(url).then(
        () => "fetched",
        () => "refused",
      );
      return { ran: "ran" in window, fetched };
    }, elsewhere);
    expect(outcome).toEqual({ ran: false, fetched: "refused" });
    expect(calls).toBe(0);
    // The browser has told of each attempt; these are the complaints that this test wants.
    expect(live.complaints.filter((text) => text.includes("Content Security Policy")).length).toBeGreaterThan(
      1,
    );
    live.complaints.length = 0;
    live.origins.delete(new URL(elsewhere).origin);
  } finally {
    stranger.close();
  }
});

test("GIVEN another site's page WHEN it opens a websocket to the program THEN it is refused", async ({
  shop,
  page,
}) => {
  const site = createServer((_, answer) => answer.end("<!doctype html><title>another site</title>"));
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  try {
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    const outcome = await page.evaluate(
      (url) =>
        new Promise<string>((resolve) => {
          const socket = new WebSocket(url, "flamelet");
          socket.onopen = () => resolve("opened");
          socket.onerror = () => resolve("refused");
        }),
      `ws://${new URL(shop.url).host}/ws`,
    );
    expect(outcome).toBe("refused");
  } finally {
    site.close();
  }
});
