import type { Update } from "@flamelet/protocol";

/** Deltas kept while the picture is frozen; a minute or two of them. */
const MOST = 500;

/**
 * Updates that came while the picture was frozen. They build on each other, so none may be left out; a whole picture
 * replaces all before it. When there are too many, a new whole picture is asked for, so that a page left frozen over
 * night does not grow.
 */
export class FrozenUpdates {
  private updates: Update[] = [];

  constructor(private readonly askForWhole: () => void) {}

  push(update: Update): void {
    if (update.since === 0) this.updates = [];
    this.updates.push(update);
    // Until the whole picture is here, the rest is still needed: the program may end before it comes.
    if (this.updates.length % MOST === 0) this.askForWhole();
  }

  get size(): number {
    return this.updates.length;
  }

  /** All that came, in order. */
  take(): Update[] {
    const taken = this.updates;
    this.updates = [];
    return taken;
  }
}
