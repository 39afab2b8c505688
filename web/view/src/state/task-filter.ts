// The filter over tasks: `report for:Pool.acquire state:waiting hub:1 >1s`. All words must hold.

/** What a filter may ask of a task. The costly ones are functions: most filters never call them. */
export interface FilterSubject {
  id: number;
  name: string;
  group: string;
  hub: string;
  activity: () => string;
  /** What it waits in, and who called that. */
  where: () => string;
  /** ns in its state. */
  age: () => number;
}

export type TaskFilter = (task: FilterSubject) => boolean;

const UNITS: Readonly<Record<string, number>> = {
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  min: 60e9,
  h: 3600e9,
};

/** null: nothing is asked, every task holds. */
export function parseTaskFilter(text: string): TaskFilter | null {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const tests = words.map(parseWord);
  return (task) => tests.every((test) => test(task));
}

function parseWord(word: string): TaskFilter {
  const age = /^([<>])(\d+(?:\.\d+)?)(us|µs|ms|s|min|m|h)$/.exec(word);
  if (age !== null) {
    const limit = Number(age[2]) * UNITS[age[3]!]!;
    return age[1] === ">" ? (task) => task.age() > limit : (task) => task.age() < limit;
  }
  const colon = word.indexOf(":");
  const value = word.slice(colon + 1);
  switch (colon > 0 ? word.slice(0, colon) : "") {
    case "for":
      return (task) => task.where().toLowerCase().includes(value);
    case "state":
      return (task) => task.activity().startsWith(value);
    case "hub":
      return (task) => task.hub === value || task.hub === `hub ${value}`;
    case "name":
      return (task) => task.name.toLowerCase().includes(value);
  }
  return (task) =>
    `#${task.id}` === word ||
    task.name.toLowerCase().includes(word) ||
    task.group.toLowerCase().includes(word) ||
    task.where().toLowerCase().includes(word) ||
    task.activity() === word;
}
