import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeServer, Flamelet, launch } from "./browser.ts";

let browser: Browser;
let server: FakeServer;
let flamelet: Flamelet;
const others: FakeServer[] = [];

/** A server of a test's own. */
async function another(...args: string[]): Promise<FakeServer> {
  const made = await FakeServer.start(...args);
  others.push(made);
  return made;
}

beforeAll(async () => {
  browser = await launch();
  server = await FakeServer.start("--port", "0", "--age", "60", "--connections", "120");
});
afterAll(async () => {
  await server?.stop();
  await browser?.close();
});

afterEach(async () => {
  for (const other of others.splice(0)) await other.stop();
  await flamelet.close();
});

describe("the page in Chromium", () => {
  beforeEach(async () => {
    flamelet = await Flamelet.open(browser, server.url);
    await flamelet.get("culprit").waitFor();
  });
  afterEach(async () => {
    // A violated Content-Security-Policy and a failed update are complaints too.
    expect(flamelet.complaints).toEqual([]);
  });

  it("GIVEN a link with a token WHEN it is opened THEN the token leaves the address, and a reload still connects", async () => {
    expect(new URL(flamelet.page.url()).hash).toBe("");
    await flamelet.page.reload();
    await flamelet.get("culprit").waitFor();
    expect(await flamelet.get("live").getAttribute("data-state")).toBe("live");
  });

  it("GIVEN a route that blocks WHEN the page opens THEN a sentence names it, and F shows its frame", async () => {
    await flamelet.page.waitForFunction(
      () => document.querySelector("[data-testid=culprit] [data-role=actor]")?.textContent === "report",
      undefined,
      { timeout: 10_000 },
    );
    expect(await flamelet.text("culprit")).toMatch(
      /^report holds hub 1 for \d+.ms each time, [\d.]+.% of its time/,
    );
    expect(await flamelet.get("culprit").getAttribute("data-kind")).toBe("blocked");
    await flamelet.press("f");
    expect(await flamelet.text("inspector-name")).toBe("sqlite3.Cursor.execute");
    expect(await flamelet.text("total-blocked")).toMatch(/\d/);
  });

  it("GIVEN the flame WHEN updates come THEN its numbers move", async () => {
    await flamelet.press("3");
    const before = await flamelet.text("kind-cpu");
    await flamelet.updates(8);
    expect(await flamelet.text("kind-cpu")).not.toBe(before);
  });

  it("GIVEN the list beside the flame WHEN a group is clicked THEN its flame is shown, and that of all comes back", async () => {
    await flamelet.press("3");
    await flamelet.page.locator("[data-group='order_worker']").click();
    await flamelet.updates(1);
    expect(await flamelet.text("crumbs")).toBe("order_worker");
    const items = await flamelet.flameItems();
    expect(items[0]).toMatch(/^order_worker, .* 100\.0.%$/);
    expect(items.some((item) => item.startsWith("send_mail, "))).toBe(true);
    await flamelet.get("scope-list").getByText("All tasks on hubs").click();
    await flamelet.updates(1);
    expect((await flamelet.flameItems()).some((item) => item.startsWith("WSGIHandler.handle, "))).toBe(true);
  });

  it("GIVEN a clicked frame WHEN updates come THEN zoom and selection stay, and Esc takes both back", async () => {
    await flamelet.press("f");
    const canvas = await flamelet.get("flame-canvas").boundingBox();
    // The second row of the group's flame is nearly as wide as the first.
    await flamelet.page.mouse.click(canvas!.x + canvas!.width / 2, canvas!.y + 30);
    const name = "WSGIHandler.handle_one_request";
    await expect.poll(() => flamelet.text("crumbs")).toMatch(new RegExp(`› ${name}$`));
    await flamelet.updates(6);
    expect(await flamelet.text("inspector-name")).toBe(name);
    expect(await flamelet.text("crumbs")).toMatch(new RegExp(`› ${name}$`));
    await flamelet.press("Escape");
    await expect.poll(() => flamelet.text("crumbs")).toBe("WSGIHandler.handle");
    await flamelet.press("Escape");
    await expect.poll(() => flamelet.text("inspector-name")).toBe("WSGIHandler.handle");
  });

  it("GIVEN the keyboard alone WHEN one walks the flame THEN caller, callee, neighbour and zoom follow", async () => {
    await flamelet.press("f", "ArrowUp");
    expect(await flamelet.text("inspector-name")).toBe("build_rows");
    await flamelet.press("ArrowUp", "Enter");
    expect(await flamelet.text("inspector-name")).toBe("report");
    await expect.poll(() => flamelet.text("crumbs")).toMatch(/› report$/);
    await flamelet.press("ArrowDown", "ArrowDown");
    expect(await flamelet.text("inspector-name")).toBe("sqlite3.Cursor.execute");
    await flamelet.press("ArrowLeft");
    expect(await flamelet.text("inspector-name")).toBe("group_by_day");
    await flamelet.press("ArrowRight");
    expect(await flamelet.text("inspector-name")).toBe("sqlite3.Cursor.execute");
  });

  it("GIVEN the search WHEN it is typed THEN it counts frames and share, Enter selects the widest, Esc empties it", async () => {
    await flamelet.press("3", "/");
    await flamelet.page.keyboard.type("Cursor.execute");
    await expect.poll(() => flamelet.text("search-result")).toMatch(/^\d+, [\d.]+.%$/);
    await flamelet.press("Enter");
    await expect.poll(() => flamelet.text("inspector-name")).toBe("sqlite3.Cursor.execute");
    await flamelet.get("search").fill("/(/");
    await expect.poll(() => flamelet.text("search-result")).toBe("not a regex");
    await flamelet.get("search").fill("nothing is called like this");
    await expect.poll(() => flamelet.text("search-result")).toBe("none");
    await flamelet.press("Escape");
    expect(await flamelet.get("search").inputValue()).toBe("");
  });

  it("GIVEN a selected frame WHEN X hides its function THEN its time is gone, and the chip brings it back", async () => {
    await flamelet.press("f", "x");
    await expect
      .poll(() => flamelet.text("hidden-chip"))
      .toMatch(/^hidden: sqlite3\.Cursor\.execute \u2212[\d.]+.s/);
    const blocked = await flamelet.text("kind-blocked");
    await flamelet.get("hidden-chip").getByRole("button").click();
    await expect.poll(() => flamelet.get("hidden-chip").count()).toBe(0);
    expect(await flamelet.text("kind-blocked")).not.toBe(blocked);
  });

  it("GIVEN waited time WHEN W counts it THEN idle waits are hidden and the chip says how much", async () => {
    await flamelet.press("3", "w");
    expect(await flamelet.get("kind-waited").getAttribute("aria-pressed")).toBe("true");
    await expect.poll(() => flamelet.text("hidden-idle")).toMatch(/^idle waits hidden \u2212[\d.,]+.[hs]/);
  });

  it("GIVEN the tasks WHEN they are filtered, sorted and walked THEN rows, counts and inspector follow", async () => {
    await flamelet.press("2");
    const rows = flamelet.get("tasks-table").getByRole("row");
    expect(await rows.count()).toBeLessThan(60);
    expect(Number(await flamelet.get("tasks-table").getAttribute("aria-rowcount"))).toBeGreaterThan(100);
    await flamelet.get("tasks-table").getByRole("button", { name: "Longest" }).click();
    expect(
      await flamelet
        .get("tasks-table")
        .getByRole("columnheader", { name: "Longest" })
        .getAttribute("aria-sort"),
    ).toBe("descending");
    await flamelet.page.getByRole("button", { name: "None" }).click();
    await flamelet.press("/");
    await flamelet.page.keyboard.type("order- state:waiting");
    await expect.poll(() => flamelet.text("task-count")).toMatch(/^\d+ of [\d,]+ tasks$/);
    await flamelet.press("Enter", "ArrowDown");
    expect(await flamelet.text("inspector-name")).toMatch(/^order-\d+ #\d+$/);
    expect(await flamelet.text("inspector-state")).toMatch(/waiting .*(at|in) /);
    await flamelet.press("p");
    await expect.poll(() => flamelet.page.getByLabel("pinned").count()).toBe(1);
    await flamelet.press("f");
    expect(await flamelet.text("crumbs")).toBe("order_worker");
  });

  it("GIVEN the timeline WHEN it is shown THEN slices come, and only then; a click selects the task", async () => {
    let bulky = 0;
    let updates = 0;
    await flamelet.page.reload();
    flamelet.page.on("websocket", (socket) =>
      socket.on("framereceived", ({ payload }) => {
        updates++;
        if (payload.includes('"timeline":{')) bulky++;
      }),
    );
    await flamelet.page.reload();
    await flamelet.get("culprit").waitFor();
    await flamelet.updates(4);
    expect([updates > 4, bulky]).toEqual([true, 0]);
    await flamelet.press("4");
    await expect.poll(() => flamelet.text("longest-slices")).toMatch(/#\d+[\s\S]*\d+.ms/);
    expect(bulky).toBeGreaterThan(0);
    await flamelet.get("longest-slices").getByRole("button").first().click();
    await expect
      .poll(() => flamelet.text("slice"))
      .toMatch(/^Slice of 1\d\d.?ms hub 1[\s\S]*mostly in .*sqlite3/);
    const name = await flamelet.text("inspector-name");
    // The same slice under the pointer, made wide.
    await flamelet.press("z");
    await expect.poll(() => flamelet.text("timeline-range")).toMatch(/, 3\d\d.ms$/);
    const canvas = (await flamelet.get("timeline-canvas").boundingBox())!;
    const place = { x: canvas.x + 184 + (canvas.width - 184) / 2, y: canvas.y + 40 };
    await flamelet.page.mouse.move(place.x, place.y);
    expect(await flamelet.text("timeline-tip")).toContain(name);
    await flamelet.page.mouse.wheel(0, 900);
    await expect.poll(() => flamelet.text("timeline-range")).toMatch(/, 1\.\d+.s$/);
    await flamelet.press("Escape");
    expect(await flamelet.get("timeline-follow").getAttribute("aria-pressed")).toBe("true");
    await flamelet.press("1");
    await flamelet.updates(3);
    const before = bulky;
    await flamelet.updates(4);
    expect(bulky).toBe(before);
  });

  it("GIVEN the table WHEN it is sorted and searched THEN only matching functions are there, most first", async () => {
    await flamelet.press("5");
    await flamelet.get("functions-table").getByRole("button", { name: "Calls" }).click();
    await flamelet.press("/");
    await flamelet.page.keyboard.type("report");
    await expect.poll(() => flamelet.text("function-count")).toMatch(/^\d+ of \d+ functions$/);
    const names = await flamelet.page
      .locator("[data-function]")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-function")));
    expect(names).toContain("report");
    expect(names).toContain("build_rows"); // its file is report.py
    expect(names).not.toContain("Index.query");
    await flamelet.page.locator("[data-function=report]").click();
    expect(await flamelet.text("inspector-name")).toBe("report");
    expect(await flamelet.text("callees")).toContain("build_rows");
  });

  it("GIVEN a frozen picture WHEN time passes THEN it stands still, and goes on where the program is", async () => {
    await flamelet.press("3", " ");
    expect(await flamelet.get("live").getAttribute("data-state")).toBe("frozen");
    const version = await flamelet.version();
    const before = await flamelet.text("kind-cpu");
    await flamelet.page.waitForTimeout(1500);
    expect(await flamelet.text("kind-cpu")).toBe(before);
    expect(await flamelet.version()).toBe(version);
    await flamelet.press(" ");
    await expect.poll(() => flamelet.version()).toBeGreaterThan(version + 4);
    expect(await flamelet.text("kind-cpu")).not.toBe(before);
  });

  it("GIVEN the page WHEN it has watched for a while THEN the footer says what flamelet itself costs, and of what", async () => {
    await expect
      .poll(() => flamelet.text("own-cost"))
      .toMatch(/^flamelet costs (about|less than) [\d.]+.% of hub \d$/);
    expect(await flamelet.get("own-cost").getAttribute("title")).toMatch(/350.ns, a switch 900.ns/);
  });

  it("GIVEN threads that wait for the GIL WHEN Now is shown THEN it says who held it, also in the list of slices", async () => {
    await expect.poll(() => flamelet.text("gil-waits")).toMatch(/metrics[\s\S]*thread log-writer/);
    await expect
      .poll(() => flamelet.text("latest"))
      .toMatch(/waited 1\d\d.ms for the GIL, held by thread log-writer/);
    expect(await flamelet.text("holds")).toMatch(/sqlite3\.Cursor\.execute/);
  });

  it("GIVEN frames from before the start WHEN one is selected THEN it says so, and counts no call", async () => {
    await flamelet.press("3", "/");
    await flamelet.page.keyboard.type("serve_forever");
    await flamelet.press("w", "Enter");
    await flamelet.get("search").fill("serve_forever");
    await flamelet.press("Enter");
    await expect.poll(() => flamelet.text("inspector-name")).toBe("BaseServer.serve_forever");
    expect(await flamelet.text("seeded")).toBe("1 entered before the start");
  });

  it("GIVEN a theme WHEN Shift D changes it THEN colours change, also after a reload", async () => {
    const ground = () => flamelet.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await ground();
    await flamelet.press("Shift+D");
    await expect.poll(ground).not.toBe(before);
    const after = await ground();
    await flamelet.page.reload();
    await flamelet.get("culprit").waitFor();
    expect(await ground()).toBe(after);
  });

  it("GIVEN the sheet of keys WHEN ? opens it THEN Esc closes it and leaves the rest alone", async () => {
    await flamelet.press("f", "?");
    await flamelet.get("keys").waitFor();
    await flamelet.press("Escape");
    await expect.poll(() => flamelet.get("keys").isVisible()).toBe(false);
    expect(await flamelet.text("inspector-name")).toBe("sqlite3.Cursor.execute");
  });
});

describe("a narrow window", () => {
  it("GIVEN 900 by 700 WHEN the views are shown THEN nothing scrolls the page, and a menu chooses the scope", async () => {
    flamelet = await Flamelet.open(browser, server.url, { viewport: { width: 900, height: 700 } });
    await flamelet.get("culprit").waitFor();
    for (const key of ["1", "2", "3", "4", "5"]) {
      await flamelet.press(key);
      await flamelet.updates(1);
      const [scroll, client] = await flamelet.page.evaluate(() => {
        const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
        return [`${scrollWidth} ${scrollHeight}`, `${clientWidth} ${clientHeight}`];
      });
      expect(scroll).toBe(client);
    }
    await flamelet.press("3");
    expect(await flamelet.get("scope-list").count()).toBe(0);
    const value = await flamelet.get("scope-menu").getByText("order_worker").getAttribute("value");
    await flamelet.get("scope-menu").selectOption(value);
    await expect.poll(() => flamelet.text("crumbs")).toBe("order_worker");
    expect(flamelet.complaints).toEqual([]);
  });
});

describe("when the program does not answer", () => {
  it("GIVEN a wrong token WHEN the page opens THEN it says what to do, and the right link in the same tab works", async () => {
    flamelet = await Flamelet.open(browser, server.url.replace(/t=.*/, `t=${"00".repeat(32)}`));
    expect(await flamelet.text("full-page")).toMatch(/^This link is not for this program/);
    await flamelet.page.goto(server.url);
    await flamelet.get("culprit").waitFor();
  });

  it("GIVEN a program WHEN it ends THEN everything stays, and the banner says when and how long", async () => {
    const short = await another("--port", "0", "--age", "60", "--end", "12");
    flamelet = await Flamelet.open(browser, short.url);
    await flamelet.page.locator("[data-testid=live][data-state=ended]").waitFor();
    expect(await flamelet.text("banner")).toMatch(/^The program ended at \d\d:\d\d:\d\d, after 7\d/);
    expect(await flamelet.get("culprit").locator("[data-role=actor]").textContent()).toBe("report");
  });

  it("GIVEN a lost connection WHEN the server is back THEN zoom and selection are still there", async () => {
    const first = await another("--port", "0", "--age", "60");
    flamelet = await Flamelet.open(browser, first.url);
    await flamelet.get("culprit").waitFor();
    await flamelet.press("f", "ArrowUp", "Enter");
    await expect.poll(() => flamelet.text("crumbs")).toMatch(/› build_rows$/);
    await first.stop();
    await expect.poll(() => flamelet.text("banner")).toMatch(/^Connection lost at/);
    expect(await flamelet.text("inspector-name")).toBe("build_rows");
    await another("--port", first.port, "--age", "60");
    await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
    await flamelet.updates(1);
    expect(await flamelet.get("banner").count()).toBe(0);
    expect(await flamelet.text("inspector-name")).toBe("build_rows");
    expect(await flamelet.text("crumbs")).toMatch(/› build_rows$/);
  });
});
