/** A program of programs/, in a process of its own. `python` and `flamelet` are taken from PATH. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const START_LIMIT = 30_000;
const END_LIMIT = 20_000;

export class Program {
  /** Of the live view, with the token. */
  url = "";
  /** What it printed on standard output. */
  output = "";
  private errors = "";
  private readonly child: ChildProcess;
  private readonly exit: Promise<unknown>;

  private constructor(command: string[], env: Record<string, string>) {
    const [name = "", ...rest] = command;
    this.child = spawn(name, rest, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.exit = once(this.child, "exit");
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.output += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
      this.url ||= /^flamelet: (http\S+)/m.exec(this.errors)?.[1] ?? "";
    });
  }

  /** `command`: what stands before the program's file, as `["flamelet", "run"]`. */
  static async start(command: string[], name: string, env: Record<string, string> = {}): Promise<Program> {
    const file = fileURLToPath(new URL(`../programs/${name}`, import.meta.url));
    const program = new Program([...command, file], env);
    const end = Date.now() + START_LIMIT;
    while (program.url === "") {
      if (program.hasEnded() || Date.now() > end) throw new Error(`no URL was printed:\n${program.errors}`);
      await sleep(20);
    }
    return program;
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

  get pid(): number {
    return this.child.pid ?? 0;
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
