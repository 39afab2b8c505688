/** Turns any list of numbers into a valid program on a core, for randomised tests. */
import { TaskState, ThreadState } from "@flamelet/protocol";
import type { Core, TaskRow, ThreadRow } from "./core.ts";

/** What one step does is drawn from `what`, with whom from `who`, and it comes `after` ns. */
export interface RandomStep {
  what: number;
  who: number;
  after: number;
}

const FUNCTIONS = 7;

/** Runs steps on `core`; `onStep` is called after each with its instant. */
export class RandomProgram {
  now = 0;
  private readonly functions: number[] = [];

  constructor(readonly core: Core) {
    core.attachThread(0, 1, "main");
  }

  run(steps: readonly RandomStep[], onStep: (now: number, index: number) => void): void {
    steps.forEach((step, index) => {
      this.now += step.after;
      this.perform(step);
      onStep(this.now, index);
    });
  }

  private perform({ what, who }: RandomStep): void {
    const { core, now } = this;
    const lives = core.threads.filter((thread) => thread.state === ThreadState.lives);
    const thread = lives[who % lives.length]!;
    switch (what % 12) {
      case 0:
      case 1:
      case 2:
        core.enter(now, thread, this.functionOf(who));
        break;
      case 3:
      case 4:
        if (thread.task.node.depth > 0) core.leave(now, thread);
        break;
      case 5:
      case 6:
        this.switchTo(thread, who);
        break;
      case 7:
        core.processor(now, thread, who % 3 === 0);
        break;
      case 8:
        this.create(thread, who);
        break;
      case 9:
        this.endCurrent(thread, who);
        break;
      case 10:
        if (who % 4 === 0 && core.threads.length < 5) core.attachThread(now, 10 + who, `thread ${who % 3}`);
        break;
      default:
        if (who % 9 === 0 && lives.length > 1) core.endThread(now, thread);
    }
  }

  /** Names are seen as the program goes, so that later updates bring new ones. */
  private functionOf(who: number): number {
    const index = who % FUNCTIONS;
    this.functions[index] ??= this.core.addFunction(
      `f${index}`,
      `C.f${index}`,
      `/app/m${index % 3}.py`,
      index,
    );
    return this.functions[index]!;
  }

  private parked(thread: ThreadRow): TaskRow[] {
    return [...this.core.tasks.values()].filter(
      (task) => task.thread === thread.id && task.state === TaskState.parked,
    );
  }

  private switchTo(thread: ThreadRow, who: number): void {
    const parked = this.parked(thread);
    const to = parked[who % Math.max(1, parked.length)];
    if (to) this.core.switchTo(this.now, thread, to, who % 2 ? { wait: `place ${who % 5}` } : {});
  }

  private create(thread: ThreadRow, who: number): void {
    const hub = thread.hub === 0 && who % 2 === 0;
    const label = who % 5 === 0 ? "label" : "";
    const task = this.core.createTask(this.now, thread, { hub, label });
    if (who % 3 !== 0) this.core.switchTo(this.now, thread, task);
  }

  private endCurrent(thread: ThreadRow, who: number): void {
    const parked = this.parked(thread);
    const to = parked[who % Math.max(1, parked.length)];
    if (to) this.core.switchTo(this.now, thread, to, { ends: true });
  }
}
