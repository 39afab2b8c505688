/** examples/shop under `flamelet run`, both on free ports. `flamelet` is taken from PATH. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SHOP = "examples/shop/shop.py";
const START_LIMIT = 30_000;
const END_LIMIT = 20_000;
/** It ends by itself when a test forgets it. */
const MOST_SECONDS = 300;

/** What the shop admits at its end. */
export interface Mistake {
  route: string;
  kind: string;
  function: string;
  file: string;
  line: number;
}

export class Shop {
  /** Of the live view, with the token. */
  url = "";
  /** When the shop listened and its customers came, ms as of Date.now(). */
  opened = 0;
  private output = "";
  private errors = "";
  private readonly child: ChildProcess;
  private readonly exit: Promise<unknown>;

  private constructor(seed: number, seconds: number) {
    const args = ["run", SHOP, "--seed", `${seed}`, "--seconds", `${seconds}`];
    this.child = spawn("flamelet", args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    this.exit = once(this.child, "exit");
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
      if (this.opened === 0 && /^shop: http/m.test(this.output)) this.opened = Date.now();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
      this.url ||= /^flamelet: (http\S+)/m.exec(this.errors)?.[1] ?? "";
    });
  }

  /** Returns as soon as the live view can be opened, which is before the shop itself has opened. */
  static async start(seed: number, seconds: number = MOST_SECONDS): Promise<Shop> {
    const shop = new Shop(seed, seconds);
    await shop.until(() => shop.url !== "", "print its URL", START_LIMIT);
    return shop;
  }

  async isOpen(): Promise<void> {
    await this.until(() => this.opened !== 0, "open", START_LIMIT);
  }

  /** Waits for the end; what the mistake was. */
  async ended(limit: number): Promise<Mistake> {
    await this.until(() => this.child.exitCode !== null, "end", limit);
    const found = /^the mistake was: route=(\S+) kind=(\S+) function=(\S+) file=(.+) line=(\d+)$/m.exec(
      this.output,
    );
    if (this.child.exitCode !== 0 || found === null) throw new Error(`the shop ended badly:\n${this.said()}`);
    const [, route = "", kind = "", fn = "", file = "", line = ""] = found;
    return { route, kind, function: fn, file, line: Number(line) };
  }

  /** As Ctrl-C does; the end is waited for. */
  async stop(): Promise<void> {
    if (this.hasEnded()) return;
    this.child.kill("SIGINT");
    const late = sleep(END_LIMIT, "late", { ref: false });
    if ((await Promise.race([this.exit, late])) !== "late") return;
    this.child.kill("SIGKILL");
    throw new Error(`the shop did not end within ${END_LIMIT / 1000} s of Ctrl-C:\n${this.said()}`);
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private async until(condition: () => boolean, what: string, limit: number): Promise<void> {
    const end = Date.now() + limit;
    while (!condition()) {
      if (this.hasEnded() || Date.now() > end) throw new Error(`the shop did not ${what}:\n${this.said()}`);
      await sleep(20);
    }
  }

  private said(): string {
    return `${this.output}${this.errors}`;
  }
}
