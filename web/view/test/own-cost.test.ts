import { Store } from "@flamelet/model";
import { Camera, Core, type Picture, updateBetween } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { OwnCostSamples } from "../src/state/own-cost.ts";

const ms = 1e6;

/** A hub on "MainThread" that calls `calls` functions and switches `switches` times a round of 100 ms. */
class Busy {
  readonly core: Core;
  readonly store = new Store();
  readonly samples = new OwnCostSamples(this.store);
  private readonly camera: Camera;
  private readonly thread;
  private readonly hub;
  private readonly task;
  private readonly fn: number;
  private before: Picture | null = null;
  now = 0;

  constructor(cost: { call: number; switch: number }) {
    this.core = new Core({ cost });
    this.camera = new Camera(this.core);
    this.thread = this.core.attachThread(0, 1, "MainThread");
    this.fn = this.core.addFunction("work", "work", "/app.py", 1);
    this.hub = this.core.createTask(0, this.thread, { hub: true });
    this.task = this.core.createTask(0, this.thread);
    this.core.switchTo(0, this.thread, this.hub);
    this.core.enter(0, this.thread, this.fn);
  }

  run(rounds: number, calls: number, switches: number): this {
    const { core, thread } = this;
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < switches / 2; i++) {
        core.switchTo(this.now, thread, this.task);
        for (let c = 0; c < (calls * 2) / switches; c++) {
          core.enter(this.now, thread, this.fn);
          core.leave(this.now, thread);
        }
        core.switchTo(this.now, thread, this.hub);
      }
      this.now += 100 * ms;
      this.tell();
    }
    return this;
  }

  tell(whole = false): void {
    const picture = this.camera.take(this.now);
    this.store.apply(updateBetween(whole ? null : this.before, picture));
    this.before = picture;
    this.samples.sample();
  }
}

describe("OwnCostSamples", () => {
  it("GIVEN events at a known cost WHEN some seconds have passed THEN the share of the hub is their product", () => {
    // 1,000 calls of 1 us and 100 switches of 10 us in each 100 ms: 2 ms of 100.
    const busy = new Busy({ call: 1000, switch: 10_000 }).run(60, 1000, 100);
    const cost = busy.samples.read()!;
    expect(cost.text).toMatch(/^flamelet costs about 2\.0.% of hub 1$/);
    expect(cost.hint).toMatch(/A call with its return 1\.00.µs, a switch 10\.0.µs\./);
    expect(cost.hint).toMatch(/\n10,000 calls and 1,000 switches a second in all threads\./);
    expect(cost.hint).toMatch(/\nhub 1: 1\d\d.ms, 2\.0.%$/);
  });

  it("GIVEN a program that calms down WHEN the window has passed THEN only what is recent counts", () => {
    const busy = new Busy({ call: 1000, switch: 0 }).run(100, 5000, 2);
    expect(busy.samples.read()!.text).toMatch(/about 5\.0.% of/);
    busy.run(50, 0, 2);
    expect(busy.samples.read()!.text).toMatch(/about 2\.[4-7].% of/);
    busy.run(60, 0, 2);
    expect(busy.samples.read()!.text).toMatch(/^flamelet costs less than 0\.1.% of hub 1$/);
  });

  it("GIVEN one update, or a server that does not know its cost WHEN it is asked THEN nothing is claimed", () => {
    expect(new Busy({ call: 1000, switch: 0 }).run(1, 10, 2).samples.read()).toBeNull();
    expect(new Busy({ call: 0, switch: 0 }).run(50, 10, 2).samples.read()).toBeNull();
  });

  it("GIVEN a whole picture of the same session WHEN it comes THEN the window goes on", () => {
    const busy = new Busy({ call: 1000, switch: 10_000 }).run(60, 1000, 100);
    busy.tell(true);
    expect(busy.samples.read()!.text).toMatch(/about 2\.0.% of/);
  });

  it("GIVEN another session behind the same page WHEN its pictures come THEN the old costs are forgotten", () => {
    const busy = new Busy({ call: 1000, switch: 10_000 }).run(60, 1000, 100);
    const other = new Busy({ call: 1000, switch: 0 }).run(2, 100, 2);
    const picture = new Camera(other.core).take(other.now);
    busy.store.apply(updateBetween(null, picture));
    busy.samples.sample();
    expect(busy.samples.read()).toBeNull();
  });
});
