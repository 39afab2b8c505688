import type { Lost, TimelineAdd } from "@flamelet/protocol";
import { BadUpdate, growColumns } from "./tables/columns.ts";

const COLUMNS = ["task", "group", "node", "begin", "end", "blocked", "idle"] as const;
/** Rows that are kept of all threads together, about 12 MB; each thread has its part of them. */
const ROWS = 1 << 18;
const FEWEST = 256;
const MOST = 1 << 15;

/** One slice of a thread; instants and times in ns. What is neither cpu nor blocked was idle. */
export interface TimelineSlice {
  /** 0: none. */
  task: number;
  group: number;
  begin: number;
  end: number;
  cpu: number;
  blocked: number;
}

/** The last slices of one thread, oldest first: rows 0 to size - 1. What lies between two rows was lost. */
export class ThreadTimeline {
  size = 0;
  /** Task id, group id, and the node at the slice's end; 0: not known. */
  task: Int32Array = new Int32Array(256);
  group: Int32Array = new Int32Array(256);
  node: Int32Array = new Int32Array(256);
  begin: Float64Array = new Float64Array(256);
  end: Float64Array = new Float64Array(256);
  /** The rest of the slice is cpu. */
  blocked: Float64Array = new Float64Array(256);
  idle: Float64Array = new Float64Array(256);

  cpu(row: number): number {
    return Math.max(0, this.end[row]! - this.begin[row]! - this.blocked[row]! - this.idle[row]!);
  }

  /** A copy: rows move when the oldest are dropped. `row`: 0 to size - 1. */
  sliceAt(row: number): TimelineSlice {
    return {
      task: this.task[row]!,
      group: this.group[row]!,
      begin: this.begin[row]!,
      end: this.end[row]!,
      cpu: this.cpu(row),
      blocked: this.blocked[row]!,
    };
  }

  /** The first row that ends after `instant`; size when none does. */
  firstAfter(instant: number): number {
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle]! <= instant) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The row that holds an instant, -1: none does. */
  rowAt(instant: number): number {
    const row = this.firstAfter(instant);
    return row < this.size && this.begin[row]! <= instant ? row : -1;
  }

  /** `limit`: how many rows may stay. Dropped in large steps, so that a row costs a copy now and then. */
  push(columns: TimelineAdd, i: number, limit: number): void {
    if (this.size >= limit + (limit >> 2)) {
      const dropped = this.size - limit;
      for (const name of COLUMNS) this[name].copyWithin(0, dropped, this.size);
      this.size = limit;
    }
    growColumns(this, COLUMNS, this.size + 1);
    for (const name of COLUMNS) this[name][this.size] = columns[name][i]!;
    this.size++;
  }
}

/** Who had each thread when: every slice, as far as it is kept. Empty unless it is subscribed to. */
export class Timeline {
  /** Slices that were overwritten before they were read, since the timeline is watched. */
  lost = 0;
  private readonly threads = new Map<number, ThreadTimeline>();
  /** Number of the next row, -1: none has come. */
  private next = -1;
  /** What was lost before, while nobody asked. */
  private lostBefore = -1;
  private leftOut = 0;

  /** undefined: nothing is known of the thread. */
  of(thread: number): ThreadTimeline | undefined {
    return this.threads.get(thread);
  }

  get rows(): number {
    let rows = 0;
    for (const timeline of this.threads.values()) rows += timeline.size;
    return rows;
  }

  /** Only the store calls this. */
  add(first: number, columns: TimelineAdd): void {
    if (first < this.next) throw new BadUpdate(`timeline.first: ${first} comes before ${this.next}`);
    if (this.next >= 0) this.leftOut += first - this.next;
    const count = columns.thread.length;
    for (let i = 0; i < count; i++) {
      const id = columns.thread[i]!;
      let timeline = this.threads.get(id);
      if (timeline === undefined) {
        timeline = new ThreadTimeline();
        this.threads.set(id, timeline);
      }
      const last = timeline.size > 0 ? timeline.end[timeline.size - 1]! : 0;
      if (columns.begin[i]! < last || columns.end[i]! < columns.begin[i]!) {
        throw new BadUpdate(`timeline.add.begin[${i}]: the slice does not follow the one before`);
      }
      timeline.push(columns, i, this.limit());
    }
    this.next = first + count;
  }

  /** Only the store calls this, with each status. */
  count(lost: Lost): void {
    const shed = lost.timeline ?? 0;
    // What was shed before the first rows came was shed because nobody had asked for it.
    if (this.next < 0 || this.lostBefore < 0) this.lostBefore = shed;
    this.lost = this.leftOut + Math.max(0, shed - this.lostBefore);
  }

  /** Only the store calls this. */
  del(threads: readonly number[]): void {
    for (const id of threads) this.threads.delete(id);
  }

  private limit(): number {
    return Math.min(MOST, Math.max(FEWEST, Math.floor(ROWS / this.threads.size)));
  }
}
