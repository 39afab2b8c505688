/** The four parts of a task's lifetime, in ns. */
export interface Times {
  cpu: number;
  blocked: number;
  idle: number;
  waited: number;
}

export type Kind = keyof Times;
export const KINDS: readonly Kind[] = ["cpu", "blocked", "idle", "waited"];

/** Which kinds are counted: they set widths, bars and shares. */
export type Kinds = Readonly<Record<Kind, boolean>>;

/** What a hub spends on its tasks. Idle and waited are of another scale and are added by choice only. */
export const DEFAULT_KINDS: Kinds = { cpu: true, blocked: true, idle: false, waited: false };

/** Sum of the counted kinds. */
export function counted(times: Readonly<Times>, kinds: Kinds): number {
  return (
    (kinds.cpu ? times.cpu : 0) +
    (kinds.blocked ? times.blocked : 0) +
    (kinds.idle ? times.idle : 0) +
    (kinds.waited ? times.waited : 0)
  );
}

/** One array for each kind, indexed alike. */
export type KindColumns = Record<Kind, Float64Array>;

export function timesAt(columns: Readonly<KindColumns>, index: number): Times {
  return {
    cpu: columns.cpu[index] ?? 0,
    blocked: columns.blocked[index] ?? 0,
    idle: columns.idle[index] ?? 0,
    waited: columns.waited[index] ?? 0,
  };
}
