import type { ServedProcess } from "@flamelet/protocol";

/** A line of the list of processes. */
export interface ProcessRow {
  process: ServedProcess;
  /** Its script, as short as it can be told from the others' scripts. */
  name: string;
  /** How many of its ancestors are listed above it. */
  depth: number;
  /** Process id of the one that started it, where that is listed; else 0. */
  parent: number;
}

/** Processes in the order they came, each one's children below it. */
export function processRows(processes: readonly ServedProcess[]): ProcessRow[] {
  const names = scriptNames(processes.map(({ script }) => script));
  const listed = new Set(processes.map(({ pid }) => pid));
  const rows: ProcessRow[] = [];
  const done = new Set<ServedProcess>();
  const add = (process: ServedProcess, depth: number): void => {
    if (done.has(process)) return;
    done.add(process);
    const parent = depth > 0 ? process.parent : 0;
    rows.push({ process, name: names.get(process.script)!, depth, parent });
    for (const child of processes) if (child.parent === process.pid) add(child, depth + 1);
  };
  for (const process of processes) if (!listed.has(process.parent)) add(process, 0);
  // Process ids are used again: entries that were read at different times can name each other as parents.
  for (const process of processes) add(process, 0);
  return rows;
}

/** "app.py"; where another script is called the same, with as many folders as tell the two apart: "shop/app.py". */
export function scriptNames(scripts: readonly string[]): Map<string, string> {
  const all = [...new Set(scripts)];
  const end = (script: string, parts: number): string => script.split("/").slice(-parts).join("/");
  return new Map(
    all.map((script) => {
      const most = script.split("/").length;
      let parts = fileName(script).split("/").length;
      const another = (other: string): boolean =>
        other !== script && end(other, parts) === end(script, parts);
      while (parts < most && all.some(another)) parts++;
      return [script, end(script, parts) || script];
    }),
  );
}

/** "shop.py" of a path. Packages run by their path have a file in common, so that goes with its folder. */
export function fileName(script: string): string {
  const parts = script.split("/");
  const last = parts.at(-1)!;
  return parts.slice(last === "__main__.py" ? -2 : -1).join("/") || script;
}
