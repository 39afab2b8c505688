/** Builds stores for tests: a core with one thread, driven by a few words. */
import { Camera, Core, type TaskRow, type ThreadRow, updateBetween } from "@flamelet/testing";
import { Store } from "../src/index.ts";

const ms = 1e6;

/** Times in ms. */
export class Program {
  readonly core = new Core();
  readonly camera = new Camera(this.core);
  readonly thread: ThreadRow;
  now = 0;
  private last: ReturnType<Camera["take"]> | null = null;

  constructor() {
    this.thread = this.core.attachThread(0, 1, "MainThread");
  }

  /** "Queue.get@/lib/gevent/queue.py:30": qualified name, file and line, which may be left out. */
  fn(text: string): number {
    const [qualname = "", place = "/app/shop.py:1"] = text.split("@");
    const [file = "", line = "0"] = place.split(/:(?=\d+$)/);
    return this.core.addFunction(
      qualname.split(".").pop()!,
      qualname,
      file,
      Number(line),
      line === "0" ? 1 : 0,
    );
  }

  enter(...functions: string[]): this {
    for (const text of functions) this.core.enter(this.now * ms, this.thread, this.fn(text));
    return this;
  }

  leave(count = 1): this {
    for (let i = 0; i < count; i++) this.core.leave(this.now * ms, this.thread);
    return this;
  }

  cpu(time: number): this {
    this.now += time;
    this.core.processor(this.now * ms, this.thread, true);
    return this;
  }

  off(time: number): this {
    this.core.processor(this.now * ms, this.thread, false);
    this.now += time;
    this.core.processor(this.now * ms, this.thread, true);
    return this;
  }

  create(options: { hub?: boolean; name?: string; label?: string } = {}): TaskRow {
    return this.core.createTask(this.now * ms, this.thread, options);
  }

  to(task: TaskRow, wait?: string): this {
    this.core.switchTo(this.now * ms, this.thread, task, wait === undefined ? {} : { wait });
    return this;
  }

  /** The current task ends. */
  end(next: TaskRow): this {
    this.core.switchTo(this.now * ms, this.thread, next, { ends: true });
    return this;
  }

  /** Tells `store`, or a new one, what is new since the last call. */
  tell(store = new Store()): Store {
    const picture = this.camera.take(this.now * ms);
    store.apply(updateBetween(store.version === 0 ? null : this.last, picture));
    this.last = picture;
    return store;
  }

  /** A hub that has been seen: the main task waits in it. */
  hub(): TaskRow {
    const hub = this.create({ hub: true });
    this.to(hub).enter("Hub.run@/x/site-packages/gevent/hub.py:9");
    return hub;
  }
}

export function idOf(store: Store, qualname: string): number {
  for (let id = 1; id < store.functions.size; id++)
    if (store.functions.qualnameOf(id) === qualname) return id;
  throw new Error(`${qualname} is not known`);
}
