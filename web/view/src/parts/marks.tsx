import type { Activity, Kind, Kinds, Times } from "@flamelet/model";
import type { JSX } from "preact";

export const ALL_KINDS: readonly Kind[] = ["cpu", "blocked", "waited", "idle"];

export function Swatch({ kind }: { kind: Kind }): JSX.Element {
  return <span class={`swatch fill-${kind}`} aria-hidden="true" />;
}

/** Head of a table row about one kind of time. */
export function KindHead({ kind }: { kind: Kind }): JSX.Element {
  return (
    <th scope="row">
      <Swatch kind={kind} /> {kind}
    </th>
  );
}

/** Square of a function's module. */
export function ModuleSwatch({ token }: { token: string }): JSX.Element {
  return <span class="swatch" style={{ background: `var(--${token})` }} aria-hidden="true" />;
}

/** The counted kinds of `times` side by side; `full` ns fill the whole width. */
export function Bar(props: { times: Times; kinds: Kinds; full: number; offHub?: boolean }): JSX.Element {
  const { times, kinds, full } = props;
  return (
    <span
      class={props.offHub ? "bar off-hub" : "bar"}
      title={props.offHub ? "On a thread without a hub: what it blocks holds nobody up" : undefined}
      aria-hidden="true"
    >
      {ALL_KINDS.map((kind) => {
        const share = kinds[kind] && full > 0 ? times[kind] / full : 0;
        return share > 0 ? (
          <i
            key={kind}
            class={`part fill-${kind}`}
            style={{ width: `${Math.min(100, share * 100).toFixed(2)}%` }}
          />
        ) : null;
      })}
    </span>
  );
}

export const HUB_KINDS: Kinds = { cpu: true, blocked: true, waited: false, idle: false };

/** The shape carries the state; only blocking is coloured like its kind of time. */
export function ActivityIcon({ activity }: { activity: Activity }): JSX.Element {
  switch (activity) {
    case "blocking":
      return (
        <span class="icon" aria-hidden="true">
          <span class="swatch fill-blocked" />
        </span>
      );
    case "running":
      return (
        <svg class="icon" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2.5 1.5v9l7.5-4.5z" fill="var(--cpu)" />
        </svg>
      );
    case "polling":
      return (
        <svg class="icon" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M3 2v8l6.5-4z" fill="none" stroke="var(--text-1)" stroke-width="1.3" />
        </svg>
      );
    case "ended":
      return (
        <svg class="icon" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M3 6h6" stroke="var(--text-2)" stroke-width="1.5" />
        </svg>
      );
    default:
      return (
        <svg class="icon" viewBox="0 0 12 12" aria-hidden="true">
          <circle cx="6" cy="6" r="3" fill="none" stroke="var(--waited-text)" stroke-width="1.4" />
        </svg>
      );
  }
}

export function PinIcon(): JSX.Element {
  return (
    <svg class="pin" viewBox="0 0 12 12" aria-label="pinned" role="img">
      <path d="M3.5 1h5v1l-1 1v3l2 2v1h-3v2.5L6 12l-.5-.5V9h-3V8l2-2V3l-1-1z" fill="var(--accent)" />
    </svg>
  );
}

export function SearchIcon(): JSX.Element {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      <g fill="none" stroke="var(--text-2)" stroke-width="1.5">
        <circle cx="5" cy="5" r="3.6" />
        <path d="m7.8 7.8 3.2 3.2" />
      </g>
    </svg>
  );
}

export function CheckMark(): JSX.Element {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
      <path d="m2 6.5 2.5 2.5L10 3" fill="none" stroke="var(--text-0)" stroke-width="1.5" />
    </svg>
  );
}

/** On what opens a list. */
export function Chevron(): JSX.Element {
  return (
    <svg class="chevron" width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
      <path d="m1 2.5 3 3 3-3" fill="none" stroke="var(--text-2)" stroke-width="1.5" />
    </svg>
  );
}

/** Three frames of an icicle, one of them hanging low. */
export function Logo(): JSX.Element {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M1 2h14v3H1z" fill="var(--text-0)" />
      <path d="M1 6h7v3H1z" fill="var(--cpu)" />
      <path d="M9 6h4v8H9z" fill="var(--blocked)" />
      <path d="M1 10h4v2H1z" fill="var(--cpu)" />
    </svg>
  );
}
