/** programs/orders.py, which starts profiling by itself, in the middle. `python` is taken from PATH. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../programs/orders.py", import.meta.url));
const START_LIMIT = 30_000;
const END_LIMIT = 20_000;

export class Orders {
  /** Of the live view, with the token. */
  url = "";
  private errors = "";
  private readonly child: ChildProcess;
  private readonly exit: Promise<unknown>;

  private constructor() {
    this.child = spawn("python", [PROGRAM], { stdio: ["ignore", "ignore", "pipe"] });
    this.exit = once(this.child, "exit");
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
      this.url ||= /^flamelet: (http\S+)/m.exec(this.errors)?.[1] ?? "";
    });
  }

  static async start(): Promise<Orders> {
    const orders = new Orders();
    const end = Date.now() + START_LIMIT;
    while (orders.url === "") {
      if (orders.hasEnded() || Date.now() > end) throw new Error(`no URL was printed:\n${orders.errors}`);
      await sleep(20);
    }
    return orders;
  }

  /** As Ctrl-C does; the end is waited for. */
  async stop(): Promise<void> {
    if (this.hasEnded()) return;
    this.child.kill("SIGINT");
    const late = sleep(END_LIMIT, "late", { ref: false });
    if ((await Promise.race([this.exit, late])) !== "late") return;
    this.child.kill("SIGKILL");
    throw new Error(`the program did not end within ${END_LIMIT / 1000} s of Ctrl-C:\n${this.errors}`);
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
