/** A page that watches the made-up shop, for tests: no connection, no document. */

import type { Section } from "@flamelet/protocol";
import { Camera, type Picture, Shop, sessionOf, updateBetween } from "@flamelet/testing";
import { Page } from "../src/state/page.ts";

const s = 1e9;

export class ShopPage {
  readonly shop: Shop;
  readonly page = new Page({
    retry: () => {},
    setFrozen: () => {},
    watchTimeline: () => {},
    askProcesses: () => {},
    rememberTheme: () => {},
  });
  private readonly camera: Camera;
  private before: Picture | null = null;
  private now = 0;

  /** `what`: sections that are subscribed to, where not the default. */
  constructor(
    seconds = 20,
    connections = 30,
    private readonly what?: Section[],
  ) {
    this.shop = new Shop({ seed: 3, culprit: "sqlite", connections });
    this.camera = new Camera(this.shop.core);
    this.page.session.value = sessionOf(this.shop.core, "shop.py", 1.7e12);
    this.page.connection.value = { state: "live", since: 0 };
    this.run(seconds);
  }

  /** The shop goes on for some seconds; the page gets one update. */
  run(seconds: number): this {
    const end = this.now + seconds * s;
    for (; this.now < end; this.now += this.camera.period) {
      this.shop.runTo(this.now + this.camera.period);
      this.camera.sample(this.now + this.camera.period);
    }
    const after = this.camera.take(this.now);
    this.page.store.apply(
      updateBetween(this.before, after, 1, this.what === undefined ? {} : { what: this.what }),
    );
    this.before = after;
    this.page.updated();
    return this;
  }

  /** The next update is a whole picture, as after a lost connection. */
  reconnect(): this {
    this.before = null;
    return this;
  }

  group(name: string): number {
    const { groups } = this.page.store;
    for (let id = 0; id < groups.size; id++) if (groups.nameOf(id) === name) return id;
    throw new Error(`the shop has no group ${name}`);
  }

  /** Path of function ids below the entry function, from names. */
  path(...names: string[]): number[] {
    const { functions } = this.page.store;
    return names.map((name) => {
      for (let id = 1; id < functions.size; id++) if (functions.qualnameOf(id) === name) return id;
      throw new Error(`the shop has no function ${name}`);
    });
  }
}
