/**
 * Small validators. Each takes a value and the path that leads to it, and returns the value with its type or throws.
 * Unknown fields are ignored, so that a newer peer may say more.
 */

/** A value has a wrong type or range. The message begins with the path: "body.now: expected ...". */
export class ProtocolError extends Error {
  override name = "ProtocolError";

  constructor(
    readonly path: string,
    readonly reason: string,
  ) {
    super(path === "" ? reason : `${path}: ${reason}`);
  }
}

export type JsonObject = Readonly<Record<string, unknown>>;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

export function reject(path: string, expected: string, value: unknown): never {
  throw new ProtocolError(path, `expected ${expected}, got ${shown(value)}`);
}

export function object(value: unknown, path: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) reject(path, "an object", value);
  return value as JsonObject;
}

export function array(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) reject(path, "an array", value);
  return value;
}

export function string(value: unknown, path: string): string {
  if (typeof value !== "string") reject(path, "a string", value);
  return value;
}

export function boolean(value: unknown, path: string): boolean {
  if (typeof value !== "boolean") reject(path, "true or false", value);
  return value;
}

/**
 * Sums over many tasks pass 2^53 ns within a day of use. They then lose their last digits in JSON.parse, which nobody
 * can see, so integers are not held to the safe range.
 */
export function integer(value: unknown, path: string, min = 0, max = Number.MAX_VALUE): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    reject(
      path,
      max === Number.MAX_VALUE ? `an integer >= ${min}` : `an integer from ${min} to ${max}`,
      value,
    );
  }
  return value;
}

export function number(value: unknown, path: string, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    reject(path, `a number from ${min} to ${max}`, value);
  }
  return value;
}

export function oneOf<T extends string>(value: unknown, path: string, choices: readonly T[]): T {
  if (!choices.includes(value as T)) reject(path, choices.map((c) => `"${c}"`).join(" or "), value);
  return value as T;
}

export function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value);
}

export function integers(value: unknown, path: string, max = Number.MAX_VALUE): readonly number[] {
  const list = array(value, path);
  for (let i = 0; i < list.length; i++) {
    const item = list[i];
    // The path is made only for the message: columns have 100,000 values.
    if (typeof item !== "number" || !Number.isInteger(item) || item < 0 || item > max) {
      integer(item, `${path}[${i}]`, 0, max);
    }
  }
  return list as readonly number[];
}

export function strings(value: unknown, path: string): readonly string[] {
  const list = array(value, path);
  for (let i = 0; i < list.length; i++) {
    if (typeof list[i] !== "string") reject(`${path}[${i}]`, "a string", list[i]);
  }
  return list as readonly string[];
}

/** Largest value of a column; `id` columns hold int32. Columns that are not named here hold times and counts. */
export type Limits<K extends string> = Readonly<Record<K, number>>;
export const ID = 0x7fffffff;
export const ANY = Number.MAX_VALUE;

/** All columns of `limits`, of equal length; those of `later` may be missing. */
export function columns<K extends string>(
  value: unknown,
  path: string,
  limits: Limits<K>,
  later: readonly string[] = [],
): Readonly<Record<K, readonly number[]>> {
  const table = object(value, path);
  let length = -1;
  for (const name in limits) {
    if (table[name] === undefined && later.includes(name)) continue;
    const column = integers(table[name], `${path}.${name}`, limits[name]);
    if (length < 0) length = column.length;
    else if (column.length !== length) {
      throw new ProtocolError(`${path}.${name}`, `expected ${length} values, got ${column.length}`);
    }
  }
  return table as Readonly<Record<K, readonly number[]>>;
}
