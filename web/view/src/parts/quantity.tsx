import { formatPercent, formatTime, type Quantity } from "@flamelet/model";
import type { JSX } from "preact";

/** A number and its unit. In columns the unit has a slot of its own; in prose it follows the number. */
export function Figure({ of, prose }: { of: Quantity; prose?: boolean }): JSX.Element {
  const none = of.number === "·";
  return (
    <span class={`q${none ? " none" : ""}${prose ? " prose" : ""}`}>
      {of.number}
      <i>{of.unit}</i>
    </span>
  );
}

/** `ns` nanoseconds. */
export function Time({ ns, prose }: { ns: number; prose?: boolean }): JSX.Element {
  return <Figure of={formatTime(ns)} prose={prose ?? false} />;
}

/** A share, 0 to 1. */
export function Percent({ share }: { share: number }): JSX.Element {
  return <span class="q">{formatPercent(share).text}</span>;
}
