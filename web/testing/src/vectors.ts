/** The golden messages in tests/vectors, and a core that is driven by their script. */
import { readFileSync } from "node:fs";
import type { Update } from "@flamelet/protocol";
import { Core, type TaskRow, type ThreadRow } from "./core.ts";
import { Camera, type Picture } from "./picture.ts";

const FOLDER = new URL("../../../tests/vectors/", import.meta.url);

export interface Said {
  from: "client" | "server";
  message: Record<string, unknown> & { body?: Record<string, unknown> };
}

export interface ExpectedTimes {
  cpu: number;
  blocked: number;
  idle: number;
  waited: number;
}

/** After one update; keys are ids, of functions qualified names. */
export interface Expected {
  version: number;
  now: number;
  threads: Record<string, { wall: number; cpu: number; blocked: number; idle: number }>;
  tasks: Record<string, ExpectedTimes & { group: number; state: string; lifetime: number }>;
  groups: Record<string, ExpectedTimes>;
  functions: Record<string, { calls: number; own: ExpectedTimes; total: ExpectedTimes }>;
  slices: number;
}

export interface BadRequest {
  name: string;
  client: "new" | "ready";
  send: string;
  error: number | null;
  names: string | null;
  close: number | null;
}

export interface BadMessage {
  name: string;
  message: unknown;
  path: string;
}

interface Step {
  at: number;
  cpu: number;
  do: "attach" | "function" | "create" | "switch" | "enter" | "leave" | "end" | "sample" | "stop" | "update";
  id?: number;
  task?: number;
  to?: number;
  function?: number;
  hub?: boolean;
  wait?: string;
  name?: string;
  qualname?: string;
  file?: string;
  line?: number;
  kind?: number;
  tid?: number;
  state?: "stopped" | "ended";
}

interface Script {
  threshold: number;
  ended_tasks: number;
  history_period: number;
  steps: Step[];
}

function text(name: string): string {
  return readFileSync(new URL(name, FOLDER), "utf8");
}

const json = (name: string): unknown => JSON.parse(text(name));

export const conversation = (): Said[] => json("conversation.json") as Said[];
export const expected = (): Expected[] => json("expected.json") as Expected[];
export const badRequests = (): BadRequest[] => json("bad-requests.json") as BadRequest[];
export const badMessages = (): BadMessage[] => json("bad-messages.json") as BadMessage[];
export const recordingLines = (): string[] => text("recording.jsonl").trimEnd().split("\n");

/** The updates of the conversation, in order. */
export function goldenUpdates(): Update[] {
  return conversation()
    .filter(({ message }) => message.event === "flamelet/update")
    .map(({ message }) => message.body as unknown as Update);
}

/** Drives a core through script.json; a picture for each of its updates. */
export function replayScript(): Picture[] {
  const script = json("script.json") as Script;
  const replay = new Replay(script);
  for (const step of script.steps) replay.perform(step);
  return replay.pictures;
}

class Replay {
  readonly pictures: Picture[] = [];
  private readonly core: Core;
  private readonly camera: Camera;
  private thread!: ThreadRow;
  private at = 0;
  private cpu = 0;

  constructor(script: Script) {
    this.core = new Core({ threshold: script.threshold, keepEnded: script.ended_tasks });
    this.camera = new Camera(this.core, script.history_period);
  }

  perform(step: Step): void {
    const { core, camera } = this;
    const { at } = step;
    this.advance(step);
    switch (step.do) {
      case "attach":
        this.thread = core.attachThread(at, step.tid!, step.name!);
        break;
      case "function":
        core.addFunction(step.name!, step.qualname!, step.file!, step.line!, step.kind!);
        break;
      case "create":
        core.createTask(at, this.thread, {
          ...(step.hub && { hub: true }),
          ...(step.name !== undefined && { name: step.name }),
        });
        break;
      case "switch":
        core.switchTo(at, this.thread, this.task(step.to!), {
          ...(step.wait !== undefined && { wait: step.wait }),
        });
        break;
      case "enter":
        core.enter(at, this.thread, step.function!);
        break;
      case "leave":
        core.leave(at, this.thread);
        break;
      case "end":
        core.end(at, this.thread, this.task(step.task!));
        break;
      case "sample":
        camera.sample(at);
        break;
      case "stop":
        core.state = step.state!;
        break;
      case "update":
        this.pictures.push(camera.take(at));
        break;
    }
  }

  /** The two clocks since the last step: what the wall has and the thread's CPU has not was off the processor. */
  private advance(step: Step): void {
    const used = step.cpu - this.cpu;
    const off = step.at - this.at - used;
    if (off > 0) {
      this.core.processor(this.at + used, this.thread, false);
      this.core.processor(step.at, this.thread, true);
    }
    this.at = step.at;
    this.cpu = step.cpu;
  }

  private task(id: number): TaskRow {
    const task = this.core.tasks.get(id);
    if (task === undefined) throw new Error(`the script has no task ${id}`);
    return task;
  }
}
