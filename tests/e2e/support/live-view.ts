/** The page of a running program, with everything that must not happen on it. */
import type { Locator, Page } from "@playwright/test";

export class LiveView {
  /** What the browser complained about: errors, warnings, violations of the Content-Security-Policy. */
  readonly complaints: string[] = [];
  /** Where the page has sent requests to. */
  readonly origins = new Set<string>();

  constructor(readonly page: Page) {
    page.on("pageerror", (error) => this.complaints.push(`${error}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complaints.push(message.text());
    });
    page.on("request", (request) => this.origins.add(new URL(request.url()).origin));
    page.on("websocket", (socket) => this.origins.add(new URL(socket.url().replace(/^ws/, "http")).origin));
  }

  /** `url`: with the token. */
  async open(url: string): Promise<void> {
    await this.page.goto(url);
  }

  get(testid: string): Locator {
    return this.page.getByTestId(testid);
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  text(testid: string): Promise<string> {
    return this.get(testid).innerText();
  }

  async show(view: "now" | "tasks" | "flame" | "timeline" | "table"): Promise<void> {
    await this.get(`tab-${view}`).click();
  }

  /** Waits until the text follows `count` further pictures of the program. */
  async updates(count: number): Promise<void> {
    const wanted = Number(await this.get("frame").getAttribute("data-version")) + count;
    await this.page.waitForFunction(
      (version) => Number(document.querySelector("[data-version]")?.getAttribute("data-version")) >= version,
      wanted,
    );
  }

  /** Frames of the flame, as assistive technology reads them: "report, 10.2 s, 40.4 %". */
  async flameItems(): Promise<string[]> {
    return (await this.text("flame-items")).split("\n").filter((line) => line !== "");
  }
}
