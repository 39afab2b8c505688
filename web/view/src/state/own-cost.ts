// What flamelet itself costs: "flamelet costs about 2.1 % of hub 1".
import { formatCount, formatPercent, formatTime, type Store } from "@flamelet/model";

/** ns: long enough that the figure stands still, short enough that it follows the program. */
const WINDOW = 10e9;
/** ns between samples; fewer than WINDOW / PERIOD + 2 are kept. */
const PERIOD = 500e6;
/** A smaller share is not worth a figure. */
const LEAST = 0.001;

interface Sample {
  now: number;
  /** By thread id: what flamelet took of it so far, ns. */
  cost: ReadonlyMap<number, number>;
  /** Of all threads. */
  calls: number;
  switches: number;
}

export interface OwnCost {
  text: string;
  /** How it is known: events times what one costs. */
  hint: string;
}

/** Remembers what the threads' own cost was some seconds ago. */
export class OwnCostSamples {
  private samples: Sample[] = [];

  constructor(private readonly store: Store) {}

  /** Call after each update. */
  sample(): void {
    const { now, status, version } = this.store;
    const last = this.samples[this.samples.length - 1];
    if (version === 0 || (last !== undefined && now >= last.now && now - last.now < PERIOD)) return;
    // Costs count up: those of another session, or of a program that was started again, say nothing here.
    const sample = this.take();
    if (last !== undefined && (now < last.now || !follows(last, sample))) this.samples = [];
    if (status?.state !== "running") return;
    this.samples.push(sample);
    while (this.samples.length > 2 && this.samples[1]!.now <= now - WINDOW) this.samples.shift();
  }

  /** null: not known (yet). */
  read(): OwnCost | null {
    const { threads, status } = this.store;
    const first = this.samples[0];
    const last = this.samples[this.samples.length - 1];
    const cost = status?.cost;
    if (first === undefined || last === undefined || last.now <= first.now) return null;
    if (cost === undefined || (cost.call === 0 && cost.switch === 0)) return null;
    const wall = last.now - first.now;
    const rows: { name: string; hub: boolean; took: number; lived: number }[] = [];
    for (let row = 0; row < threads.size; row++) {
      const id = threads.id[row]!;
      if (!last.cost.has(id) || threads.end[row] !== 0) continue;
      const took = last.cost.get(id)! - (first.cost.get(id) ?? 0);
      const lived = Math.min(wall, last.now - threads.begin[row]!);
      if (lived > 0) rows.push({ name: threads.called(id), hub: threads.hub[row] !== 0, took, lived });
    }
    const share = (row: (typeof rows)[number]): number => row.took / row.lived;
    rows.sort((a, b) => Number(b.hub) - Number(a.hub) || share(b) - share(a));
    const worst = rows[0];
    if (worst === undefined) return null;
    const perSecond = (count: number): string => formatCount((count * 1e9) / wall);
    const lines = [
      "What flamelet itself takes, an estimate: events times what one costs.",
      `A call with its return ${price(cost.call)}, a switch ${price(cost.switch)}.`,
      `${perSecond(last.calls - first.calls)} calls and ${perSecond(last.switches - first.switches)} switches a second in all threads.`,
      `In the last ${formatTime(wall).text}:`,
      ...rows
        .slice(0, 8)
        .map((row) => `${row.name}: ${formatTime(row.took).text}, ${formatPercent(share(row)).text}`),
    ];
    const percent = formatPercent(Math.max(LEAST, share(worst))).text;
    const about = share(worst) < LEAST ? "less than" : "about";
    return { text: `flamelet costs ${about} ${percent} of ${worst.name}`, hint: lines.join("\n") };
  }

  private take(): Sample {
    const { threads, nodes, groups, now } = this.store;
    const cost = new Map<number, number>();
    for (let row = 0; row < threads.size; row++) cost.set(threads.id[row]!, threads.cost[row]!);
    let calls = 0;
    for (let id = 1; id < nodes.size; id++) calls += nodes.calls[id]!;
    let switches = 0;
    for (let id = 0; id < groups.size; id++) switches += groups.switches[id]!;
    return { now, cost, calls, switches };
  }
}

function follows(before: Sample, after: Sample): boolean {
  for (const [id, cost] of before.cost) if ((after.cost.get(id) ?? cost) < cost) return false;
  return after.calls >= before.calls && after.switches >= before.switches;
}

function price(ns: number): string {
  return ns === 0 ? "not known" : formatTime(ns).text;
}
