import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServedProcess } from "@flamelet/protocol";
import type { Browser, Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { FakeServer, Flamelet, launch } from "./browser.ts";

let browser: Browser;
let folder: string;
/** Two programs that serve, as a gunicorn and its worker would. */
let server: FakeServer;
let worker: FakeServer;
let flamelet: Flamelet;

beforeAll(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "flamelet-processes-"));
  tell([]);
  const args = ["--port", "0", "--age", "60", "--connections", "20", "--processes", join(folder, "list")];
  server = await FakeServer.start(...args);
  worker = await FakeServer.start(...args, "--token", "cd".repeat(32), "--culprit", "none");
});
afterAll(async () => {
  await server?.stop();
  await worker?.stop();
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => flamelet.close());

/** What both servers answer from now on. */
function tell(processes: readonly ServedProcess[]): void {
  writeFileSync(join(folder, "list"), JSON.stringify(processes));
}

function processAt(url: string, more: Partial<ServedProcess> & { pid: number }): ServedProcess {
  const started = Date.now() / 1000 - 400;
  return { parent: 1, script: "/srv/shop/shop.py", python: "3.12.1", started, url, self: false, ...more };
}

/** The two that serve, and one whose address is nobody's. */
function three(): ServedProcess[] {
  return [
    processAt(server.url, { pid: 410 }),
    processAt(worker.url, { pid: 411, parent: 410 }),
    processAt("http://example.org/#t=00", { pid: 52, script: "/srv/mail/worker.py" }),
  ];
}

/** The page of the first server, with its menu known. */
async function open(processes = three(), url = server.url): Promise<void> {
  tell(processes);
  flamelet = await Flamelet.open(browser, url);
  await flamelet.get("process-button").waitFor();
}

const items = (): Locator => flamelet.get("processes").getByRole("menuitem");
const texts = async (): Promise<string[]> =>
  (await items().allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
const focused = (): Promise<string> =>
  flamelet.page.evaluate(
    () => document.activeElement?.getAttribute("data-pid") ?? document.activeElement?.tagName ?? "",
  );
const shown = (): Promise<boolean> => flamelet.get("processes").isVisible();

describe("the process menu", () => {
  afterEach(() => {
    expect(flamelet.complaints).toEqual([]);
  });

  it("GIVEN one process WHEN the page is open THEN there is its name and no menu; WHEN others come THEN there is", async () => {
    tell([processAt(server.url, { pid: 410 })]);
    flamelet = await Flamelet.open(browser, server.url);
    await flamelet.get("culprit").waitFor();
    expect(await flamelet.text("program")).toMatch(/^shop\.py\s\d+$/);
    expect(await flamelet.get("process-button").count()).toBe(0);
    tell(three());
    // Within one period, without a reload.
    await flamelet.get("process-button").waitFor();
    tell([processAt(server.url, { pid: 410 })]);
    await flamelet.get("process-button").waitFor({ state: "detached" });
  });

  it("GIVEN an older server WHEN it does not know the request THEN there is no menu and no complaint", async () => {
    const older = await FakeServer.start("--port", "0", "--age", "10", "--connections", "20");
    try {
      flamelet = await Flamelet.open(browser, older.url);
      await flamelet.get("frame").waitFor();
      await flamelet.updates(3);
      expect(await flamelet.text("program")).toMatch(/^shop\.py\s\d+$/);
      expect(await flamelet.get("process-button").count()).toBe(0);
    } finally {
      await older.stop();
    }
  });

  it("GIVEN several processes WHEN the menu is opened by a click THEN it lists them, children below their parents", async () => {
    await open();
    await flamelet.get("process-button").click();
    expect(await flamelet.get("process-button").getAttribute("aria-expanded")).toBe("true");
    expect(await texts()).toEqual([
      expect.stringMatching(/^shop\.py 410 6.min$/),
      expect.stringMatching(/^shop\.py 411 , child of 410, 6.min$/),
      expect.stringMatching(/^worker\.py 52 6.min$/),
    ]);
    expect(await items().nth(0).getAttribute("aria-current")).toBe("page");
    // Links are links, and only to this machine.
    expect(await items().evaluateAll((all) => all.map((item) => item.getAttribute("href")))).toEqual([
      null,
      worker.url,
      null,
    ]);
    expect(await items().nth(2).getAttribute("aria-disabled")).toBe("true");
    await items().nth(2).click({ force: true });
    expect(flamelet.page.url()).toBe(new URL("/", server.url).href);
    expect(await flamelet.get("processes-note").count()).toBe(0);
  });

  it("GIVEN the keyboard alone WHEN one goes through the menu THEN keys move in it, reach no view, and Esc gives the focus back", async () => {
    await open();
    await flamelet.press("f");
    const name = await flamelet.text("inspector-name");
    await flamelet.get("process-button").focus();
    await flamelet.press("Enter");
    await expect.poll(focused).toBe("410");
    await flamelet.press("ArrowDown");
    expect(await focused()).toBe("411");
    await flamelet.press("ArrowDown", "ArrowDown");
    expect(await focused()).toBe("410");
    await flamelet.press("End");
    expect(await focused()).toBe("52");
    await flamelet.press("s");
    expect(await focused()).toBe("410");
    // 2 would be the tasks, x would hide the function, Space would freeze; on an entry that leads nowhere it does nothing.
    await flamelet.press("End", "2", "x", "Space");
    expect([await focused(), await shown()]).toEqual(["52", true]);
    await flamelet.press("Escape");
    expect(await shown()).toBe(false);
    await expect.poll(() => flamelet.get("process-button").getAttribute("aria-expanded")).toBe("false");
    expect(await focused()).toBe("BUTTON");
    // Nothing of the view was lost: Esc in the menu is not the view's Esc.
    expect(await flamelet.text("inspector-name")).toBe(name);
    expect(await flamelet.get("tab-flame").getAttribute("aria-selected")).toBe("true");
    expect(await flamelet.get("live").getAttribute("data-state")).toBe("live");
    expect(await flamelet.get("hidden-chip").count()).toBe(0);
    // The arrows open it too, Tab leaves it for what comes after the button.
    await flamelet.press("ArrowDown");
    await expect.poll(focused).toBe("410");
    await flamelet.press("Tab");
    await expect.poll(shown).toBe(false);
    expect(await flamelet.page.evaluate(() => document.activeElement?.getAttribute("data-testid"))).toBe(
      "tab-now",
    );
  });

  it("GIVEN the menu WHEN a worker is chosen with Enter THEN its page is there, live, and back leads back", async () => {
    await open();
    await flamelet.get("process-button").focus();
    await flamelet.press("ArrowDown");
    await expect.poll(focused).toBe("410");
    await flamelet.press("ArrowDown", "Enter");
    await flamelet.page.waitForURL(new URL("/", worker.url).href);
    await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
    await flamelet.get("process-button").click();
    expect(await flamelet.page.locator("[aria-current=page]").getAttribute("data-pid")).toBe("411");
    await flamelet.page.goBack();
    await flamelet.page.waitForURL(new URL("/", server.url).href);
    await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
  });

  it("GIVEN the menu WHEN an entry is clicked with Ctrl or the middle button THEN it opens in a tab of its own", async () => {
    await open();
    for (const how of [{ modifiers: ["Control" as const] }, { button: "middle" as const }]) {
      if (!(await shown())) await flamelet.get("process-button").click();
      const [tab] = await Promise.all([
        flamelet.page.context().waitForEvent("page"),
        items().nth(1).click(how),
      ]);
      await tab.getByTestId("live").and(tab.locator("[data-state=live]")).waitFor();
      expect(tab.url()).toBe(new URL("/", worker.url).href);
      await tab.close();
    }
    expect(flamelet.page.url()).toBe(new URL("/", server.url).href);
  });

  it("GIVEN an open menu WHEN processes come and go THEN it follows, and the focus is not lost", async () => {
    await open();
    await flamelet.get("process-button").click();
    await items().nth(1).focus();
    const more = processAt("http://127.0.0.1:9/#t=00", { pid: 412, parent: 410 });
    tell([...three(), more]);
    await expect.poll(() => items().count()).toBe(4);
    expect(await focused()).toBe("411");
    tell([three()[0]!, more]);
    await expect.poll(() => items().count()).toBe(2);
    expect(await focused()).toBe("412");
    // Alone again: what is open stays until it is closed.
    tell([three()[0]!]);
    await expect.poll(() => items().count()).toBe(1);
    expect(await shown()).toBe(true);
    await flamelet.press("Escape");
    await flamelet.get("process-button").waitFor({ state: "detached" });
  });

  it("GIVEN a hidden page WHEN time passes THEN it asks nothing; WHEN it is looked at again THEN at once", async () => {
    let asked = 0;
    await open();
    flamelet.page.on("websocket", (socket) =>
      socket.on("framesent", ({ payload }) => {
        if (payload.includes("flamelet/processes")) asked++;
      }),
    );
    await flamelet.page.reload();
    await flamelet.get("process-button").waitFor();
    expect(asked).toBe(1);
    const become = (state: string): Promise<void> =>
      flamelet.page.evaluate((seen) => {
        Object.defineProperty(document, "visibilityState", { value: seen, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await become("hidden");
    await flamelet.page.waitForTimeout(6000);
    expect(asked).toBe(1);
    await become("visible");
    await expect.poll(() => asked).toBe(2);
    await flamelet.get("process-button").click();
    await expect.poll(() => asked).toBe(3);
  });
});

describe("the process menu at an end", () => {
  it("GIVEN a program that ends WHEN its menu is opened THEN the others are still there, as last known", async () => {
    const list = join(folder, "list");
    const short = await FakeServer.start(
      ...["--port", "0", "--age", "60", "--connections", "20", "--end", "8", "--processes", list],
    );
    try {
      await open(
        [processAt(short.url, { pid: 410 }), processAt(worker.url, { pid: 411, parent: 410 })],
        short.url,
      );
      await flamelet.page.locator("[data-testid=live][data-state=ended]").waitFor();
      await flamelet.get("process-button").click();
      expect(await flamelet.text("processes-head")).toMatch(/^Last known at \d\d:\d\d:\d\d$/);
      expect(await texts()).toEqual([
        "shop.py 410 ended",
        expect.stringMatching(/^shop\.py 411 , child of 410, 6.min$/),
      ]);
      await items().nth(1).click();
      await flamelet.page.waitForURL(new URL("/", worker.url).href);
      await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
    } finally {
      await short.stop();
    }
  });

  it("GIVEN a new program at the port of one that ended WHEN it is chosen THEN its token is used, though only the fragment differs", async () => {
    const old = await FakeServer.start("--port", "0", "--age", "10", "--connections", "20");
    const token = "ef".repeat(32);
    let next: FakeServer | null = null;
    try {
      const there = `http://127.0.0.1:${old.port}/#t=${token}`;
      flamelet = await Flamelet.open(browser, old.url);
      await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
      await old.stop();
      next = await FakeServer.start(
        "--port",
        old.port,
        "--age",
        "10",
        "--connections",
        "20",
        "--token",
        token,
      );
      await flamelet.page.locator("[data-testid=live][data-state=refused]").waitFor();
      // As a click on a link does it.
      await flamelet.page.evaluate((url) => location.assign(url), there);
      await flamelet.page.locator("[data-testid=live][data-state=live]").waitFor();
      expect(new URL(flamelet.page.url()).hash).toBe("");
    } finally {
      await old.stop();
      await next?.stop();
    }
  });

  it("GIVEN a page that came through a tunnel WHEN its menu is opened THEN it says that ports need forwarding, and which", async () => {
    // The server's own port is another than the page's.
    const own = processAt("http://127.0.0.1:5001/#t=00", { pid: 410, self: true });
    const other = processAt("http://127.0.0.1:5002/#t=00", { pid: 411, parent: 410 });
    tell([own, other]);
    flamelet = await Flamelet.open(browser, server.url);
    await flamelet.get("process-button").click();
    expect(await flamelet.text("processes-note")).toMatch(/tunnel or proxy: its program serves port 5001\./);
    expect(await texts()).toEqual([
      expect.stringMatching(/^shop\.py 410 port 5001 6.min$/),
      expect.stringMatching(/^shop\.py 411 , child of 410, port 5002 6.min$/),
    ]);
  });
});

describe("the process menu's place", () => {
  beforeEach(() => {
    const long = "/srv/applications/a-very-long-name-of-a-script-that-nobody-would-ever-type-by-hand.py";
    const workers = Array.from({ length: 40 }, (_, i) =>
      processAt(`http://127.0.0.1:${6000 + i}/#t=00`, { pid: 500 + i, parent: 410, script: long }),
    );
    tell([processAt(server.url, { pid: 410, script: long }), ...workers]);
  });

  it.each([
    [1440, 900],
    [900, 700],
    [420, 360],
  ])(
    "GIVEN a window of %i by %i and many long names WHEN the menu opens THEN it is within, and scrolls by itself",
    async (width, height) => {
      flamelet = await Flamelet.open(browser, server.url, { viewport: { width, height } });
      await flamelet.get("process-button").click();
      await flamelet.press("End");
      await expect.poll(focused).toBe("539");
      const box = (await flamelet.get("processes").boundingBox())!;
      expect([box.x >= 0, box.x + box.width <= width, box.y + box.height <= height]).toEqual([
        true,
        true,
        true,
      ]);
      const item = (await items().last().boundingBox())!;
      expect(item.y + item.height).toBeLessThanOrEqual(box.y + box.height);
      // The header has room for all it shows from 900 px on.
      const scroll = await flamelet.page.evaluate(() => document.documentElement.scrollWidth);
      if (width >= 900) expect(scroll).toBe(width);
    },
  );
});
