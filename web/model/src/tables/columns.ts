/** Growable typed arrays: a table is a struct of them, all of one length. */

export type Column = Float64Array | Int32Array | Uint8Array;

/** `column` itself when it has room for `size` values, else a larger copy. */
export function grown<T extends Column>(column: T, size: number): T {
  if (size <= column.length) return column;
  const next = new (column.constructor as new (length: number) => T)(Math.max(size, column.length * 2, 16));
  next.set(column);
  return next;
}

/** Makes room for `size` rows in the named columns of a table. */
export function growColumns<K extends string>(
  table: Record<K, Column>,
  names: readonly K[],
  size: number,
): void {
  if (size <= table[names[0]!].length) return;
  for (const name of names) table[name] = grown(table[name], size);
}

/** The update contradicts what is known: an id that was never added, a child before its parent. */
export class BadUpdate extends Error {
  override name = "BadUpdate";
}

/**
 * Tables that ids index directly grow to the largest id; a program has at most some hundred thousand nodes, so a larger
 * id is a mistake and must not cost gigabytes.
 */
const LARGEST_ID = (1 << 24) - 1;

export function checkId(id: number, column: string, row: number, least = 1): void {
  if (id < least || id > LARGEST_ID) {
    throw new BadUpdate(`${column}[${row}]: id ${id} is not from ${least} to ${LARGEST_ID}`);
  }
}
