/** Chromium and the fake server, for tests of the built page. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";

const WEB = fileURLToPath(new URL("../../", import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function launch(): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`no Chromium at ${CHROMIUM}: apt-get install chromium, or set CHROMIUM to its path`);
  }
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  args.push("--disable-background-networking", "--disable-component-update", "--disable-sync");
  return chromium.launch({ executablePath: CHROMIUM, args });
}

/** A fake server on a free port; `url` has the token. */
export class FakeServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(...args: string[]): Promise<FakeServer> {
    const command = ["--import", "tsx", "testing/bin/fake-server.ts", ...args];
    const child = spawn(process.execPath, command, { cwd: WEB, stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise<string>((resolve, reject) => {
      child.on("exit", (code) => reject(new Error(`the fake server ended with ${code}`)));
      child.stdout?.on("data", (data: Buffer) => {
        const found = /^(http:\S+)/.exec(data.toString())?.[1];
        if (found !== undefined) resolve(found);
      });
    });
    return new FakeServer(child, url);
  }

  get port(): string {
    return new URL(this.url).port;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill();
    await gone;
  }
}

/** The page under test, with everything that the browser complained about. */
export class Flamelet {
  readonly complaints: string[] = [];

  private constructor(readonly page: Page) {
    page.on("pageerror", (error) => this.complaints.push(`${error}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(message.text());
    });
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Flamelet> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const flamelet = new Flamelet(await context.newPage());
    await flamelet.page.goto(url);
    return flamelet;
  }

  get(testid: string): Locator {
    return this.page.getByTestId(testid);
  }

  press(...keys: string[]): Promise<void> {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  text(testid: string): Promise<string> {
    return this.get(testid).innerText();
  }

  /** Version of the picture that the text shows. */
  async version(): Promise<number> {
    return Number(await this.get("frame").getAttribute("data-version"));
  }

  /** Waits until the text follows `count` further pictures. */
  async updates(count: number): Promise<void> {
    const wanted = (await this.version()) + count;
    await this.page.waitForFunction(
      (version) => Number(document.querySelector("[data-version]")?.getAttribute("data-version")) >= version,
      wanted,
    );
  }

  /** Items of the flame for assistive technology: "report, 10.2 s, 40.4 %". */
  async flameItems(): Promise<string[]> {
    return (await this.text("flame-items")).split("\n").filter((line) => line !== "");
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
