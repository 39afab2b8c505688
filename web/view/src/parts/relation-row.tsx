import { formatPercent, type Kinds, type Times } from "@flamelet/model";
import type { JSX } from "preact";
import { countedTime } from "../state/task-rows.ts";
import { Bar, ModuleSwatch } from "./marks.tsx";
import { Time } from "./quantity.tsx";

/** One caller or callee: module, name, bar, time, share. */
export function RelationRow(props: {
  token: string;
  name: string;
  place: string;
  times: Times;
  kinds: Kinds;
  /** ns that are 100 %. */
  whole: number;
  onClick?: () => void;
}): JSX.Element {
  const time = countedTime(props.times, props.kinds);
  return (
    <button type="button" class="relation" title={`${props.name}\n${props.place}`} onClick={props.onClick}>
      <ModuleSwatch token={props.token} />
      <span class="fill cut">{props.name}</span>
      <Bar times={props.times} kinds={props.kinds} full={props.whole} />
      <span class="value">
        <Time ns={time} />
      </span>
      <span class="share">{props.whole > 0 ? formatPercent(time / props.whole).text : ""}</span>
    </button>
  );
}
