/**
 * Runs made-up programs on a Core. A task is a generator of steps; each thread has an event loop of its own (a task that
 * is a hub, unless the thread has none) and a clock of its own, which runTo() brings forward.
 */
import { ThreadState } from "@flamelet/protocol";
import type { Core, TaskRow, ThreadRow } from "./core.ts";

export type Step =
  | { do: "enter"; fn: number }
  | { do: "leave" }
  /** As `enter`, for a frame that was there before profiling was started. */
  | { do: "seed"; fn: number }
  /** Waits `ns` for the GIL, which another thread holds. */
  | { do: "gil"; ns: number; holder: ThreadRow }
  /** On the processor, or off it while current, for `ns`. */
  | { do: "cpu" | "block"; ns: number }
  /** Parked for `ns`; `place` is the call it waits in. */
  | { do: "wait"; ns: number; place: string };

export type Program = Generator<Step, void, void>;

/** A call of `fn`: `body` runs inside. */
export function* call(fn: number, body: Iterable<Step> = []): Program {
  yield { do: "enter", fn };
  yield* body;
  yield { do: "leave" };
}
export const cpu = (ns: number): Step => ({ do: "cpu", ns: Math.round(ns) });
export const block = (ns: number): Step => ({ do: "block", ns: Math.round(ns) });
export const wait = (ns: number, place: string): Step => ({ do: "wait", ns: Math.round(ns), place });

interface Waiting {
  due: number;
  /** Makes the task's row at its first switch: a greenlet is not seen before. */
  task: () => TaskRow;
  program: Program;
}

export class Loop {
  readonly thread: ThreadRow;
  private clock: number;
  private hub: TaskRow | null = null;
  private current: { task: TaskRow; program: Program } | null = null;
  /** Steps of the hub, or what comes before the current task's next step. */
  private readonly steps: Step[] = [];
  private rest: { do: "cpu" | "block" | "gil"; ns: number; holder?: ThreadRow } | null = null;
  private readonly waiting: Waiting[] = [];

  /** `hub`: functions of the event loop; null: a thread without one, where a wait blocks. */
  constructor(
    private readonly core: Core,
    at: number,
    tid: number,
    name: string,
    private readonly hubFunctions: { run: number; callback: number } | null,
  ) {
    this.thread = core.attachThread(at, tid, name);
    this.clock = at;
  }

  /** What the thread's own stack does. */
  runMain(program: Program): void {
    this.current = { task: this.thread.task, program };
  }

  /** A new task, ready after `delay` ns. */
  spawn(program: Program, options: { name?: string; label?: string; delay?: number } = {}): void {
    let task: TaskRow | null = null;
    this.park(Math.round(this.clock + (options.delay ?? 0)), program, () => {
      task ??= this.core.createTask(this.clock, this.thread, options);
      return task;
    });
  }

  runTo(until: number): void {
    while (this.clock < until && this.thread.state === ThreadState.lives) {
      if (this.rest !== null) this.spend(this.rest, until);
      else if (this.steps.length > 0) this.perform(this.steps.shift()!);
      else if (this.current !== null) this.runCurrent(this.current);
      else this.runHub();
    }
  }

  private spend(rest: NonNullable<Loop["rest"]>, until: number): void {
    const part = Math.min(rest.ns, until - this.clock);
    if (rest.holder !== undefined) this.core.waitForGil(this.clock, this.thread, rest.holder);
    this.core.processor(this.clock, this.thread, rest.do === "cpu");
    this.clock += part;
    this.core.processor(this.clock, this.thread, true);
    rest.ns -= part;
    if (rest.ns > 0) return;
    this.rest = null;
    if (rest.holder !== undefined) this.core.waitForGil(this.clock, this.thread, null);
  }

  private perform(step: Step): void {
    if (step.do === "seed") this.core.seed(this.clock, this.thread, step.fn);
    else if (step.do === "gil") this.rest = { ...step };
    else if (step.do === "enter") this.core.enter(this.clock, this.thread, step.fn);
    else if (step.do === "leave") this.core.leave(this.clock, this.thread);
    else if (step.do === "wait") this.wait(step);
    else if (step.ns > 0) this.rest = { do: step.do, ns: step.ns };
  }

  private wait(step: { ns: number; place: string }): void {
    if (this.hubFunctions === null || this.current === null) {
      this.rest = { do: "block", ns: step.ns };
      return;
    }
    const { task, program } = this.current;
    this.park(this.clock + step.ns, program, () => task);
    this.toHub({ wait: step.place });
  }

  private runCurrent({ program }: { program: Program }): void {
    const next = program.next();
    if (!next.done) this.perform(next.value);
    else if (this.hubFunctions === null) this.core.endThread(this.clock, this.thread);
    else this.toHub({ ends: true });
  }

  private toHub(options: { wait?: string; ends?: boolean }): void {
    this.current = null;
    if (this.hub !== null) {
      this.core.switchTo(this.clock, this.thread, this.hub, options);
      return;
    }
    this.hub = this.core.createTask(this.clock, this.thread, { hub: true });
    this.core.switchTo(this.clock, this.thread, this.hub, options);
    this.core.enter(this.clock, this.thread, this.hubFunctions!.run);
  }

  private runHub(): void {
    const next = this.waiting[0];
    if (next === undefined) {
      this.rest = { do: "block", ns: 1e9 };
      return;
    }
    if (next.due > this.clock) {
      this.rest = { do: "block", ns: next.due - this.clock };
      // What a wake-up costs the hub: the loop itself, and the callback of a timer or a watcher.
      this.steps.push(cpu(9_000), { do: "enter", fn: this.hubFunctions!.callback }, cpu(6_000), {
        do: "leave",
      });
      return;
    }
    this.waiting.shift();
    const task = next.task();
    this.core.switchTo(this.clock, this.thread, task);
    this.current = { task, program: next.program };
    this.steps.push(cpu(1_000));
  }

  /** Keeps the order in which tasks become ready; those of one instant in the order of parking. */
  private park(due: number, program: Program, task: () => TaskRow): void {
    let low = 0;
    let high = this.waiting.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.waiting[middle]!.due <= due) low = middle + 1;
      else high = middle;
    }
    this.waiting.splice(low, 0, { due, task, program });
  }
}
