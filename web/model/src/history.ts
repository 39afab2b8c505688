import type { ThreadHistory } from "@flamelet/protocol";

/** How far back, in ns. */
export const HISTORY = 120e9;
/** Where the server sends no history (recordings), strips have this period, in ns. */
export const DEFAULT_PERIOD = 500e6;

/**
 * The last two minutes of one thread, one value per period, k from 0 (oldest) to length - 1. The server gives the past
 * in a whole picture, totals of successive updates continue it.
 *
 * cpu + blocked + idle of a period is how much of it is known: all of it, except in the newest one, in the first and
 * where the server's history met the first update. Draw shares of that sum.
 */
export class HistoryRing {
  private readonly capacity: number;
  private readonly columns: [Float64Array, Float64Array, Float64Array];
  /** Periods count from `offset`; the newest one has the number `newest`. */
  private newest = -1;
  private count = 0;
  private offset = 0;

  constructor(
    /** ns */
    readonly period: number,
  ) {
    this.capacity = Math.max(1, Math.ceil(HISTORY / period));
    const column = (): Float64Array => new Float64Array(this.capacity);
    this.columns = [column(), column(), column()];
  }

  get length(): number {
    return this.count;
  }

  /** Instant at which the newest period ends; it may lie after now, then that period is not full yet. */
  get end(): number {
    return this.offset + (this.newest + 1) * this.period;
  }

  cpu(k: number): number {
    return this.at(0, k);
  }

  blocked(k: number): number {
    return this.at(1, k);
  }

  idle(k: number): number {
    return this.at(2, k);
  }

  private at(column: 0 | 1 | 2, k: number): number {
    if (k < 0 || k >= this.count) return 0;
    return this.columns[column][(this.newest - this.count + 1 + k) % this.capacity]!;
  }

  /** Only the store calls this: what the server knows of the past. */
  load(history: ThreadHistory): void {
    const length = Math.min(history.cpu.length, this.capacity);
    const from = history.cpu.length - length;
    this.offset = history.end % this.period;
    this.newest = Math.round((history.end - this.offset) / this.period) - 1;
    // A history that begins before the session's start would have negative numbers of periods.
    this.count = Math.min(length, this.newest + 1);
    for (let k = 0; k < length; k++) {
      const slot = (this.newest - length + 1 + k + this.capacity) % this.capacity;
      this.columns[0][slot] = history.cpu[from + k]!;
      this.columns[1][slot] = history.blocked[from + k]!;
      this.columns[2][slot] = history.idle[from + k]!;
    }
  }

  /** Only the store calls this: times that passed in [from, to), spread evenly over it. */
  add(from: number, to: number, cpu: number, blocked: number, idle: number): void {
    const wall = to - from;
    if (!(wall > 0)) return;
    const first = Math.floor((from - this.offset) / this.period);
    const last = Math.ceil((to - this.offset) / this.period) - 1;
    if (this.count === 0) {
      this.newest = Math.max(first, 0) - 1;
    }
    for (let n = Math.max(first, last - this.capacity + 1, this.newest - this.count + 1, 0); n <= last; n++) {
      this.advance(n);
      const begin = this.offset + n * this.period;
      const share = (Math.min(to, begin + this.period) - Math.max(from, begin)) / wall;
      const slot = n % this.capacity;
      this.columns[0][slot]! += cpu * share;
      this.columns[1][slot]! += blocked * share;
      this.columns[2][slot]! += idle * share;
    }
  }

  private advance(n: number): void {
    if (n - this.newest >= this.capacity) {
      for (const column of this.columns) column.fill(0);
      this.newest = n;
      this.count = 1;
      return;
    }
    while (this.newest < n) {
      this.newest++;
      this.count = Math.min(this.count + 1, this.capacity);
      for (const column of this.columns) column[this.newest % this.capacity] = 0;
    }
  }
}
