import { formatTime, MINUS, type Times } from "@flamelet/model";
import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { countedTime } from "../state/task-rows.ts";

/** What is hidden, how much counted time that takes away, and the way back. */
export function HiddenChips(): JSX.Element {
  const page = usePage();
  const { tree } = page;
  const kinds = page.kinds.value;
  const idle = page.idleHidden();
  const removed = (times: Times): string => {
    const time = countedTime(times, kinds);
    return time > 0 ? ` ${MINUS}${formatTime(time).text}` : "";
  };
  let idleTime = 0;
  for (const fn of idle) idleTime += countedTime(tree.hiddenTimes(fn), kinds);
  return (
    <>
      {idleTime > 0 ? (
        <span
          class="chip"
          data-testid="hidden-idle"
          title={idle.map((fn) => page.store.functions.qualnameOf(fn)).join("\n")}
        >
          <span>
            idle waits hidden{" "}
            <span class="weak">
              {MINUS}
              {formatTime(idleTime).text}
            </span>
          </span>
          <button
            type="button"
            aria-label="Show idle waits"
            onClick={() => {
              page.hideIdle.value = false;
            }}
          >
            ×
          </button>
        </span>
      ) : null}
      {!page.hideIdle.value && kinds.waited ? (
        <button
          type="button"
          class="btn"
          title="Waits for the next request, an empty queue and the like"
          onClick={() => {
            page.hideIdle.value = true;
          }}
        >
          Hide idle waits
        </button>
      ) : null}
      {[...page.hidden.value].map((fn) => {
        const name = page.store.functions.qualnameOf(fn);
        return (
          <span key={fn} class="chip" data-testid="hidden-chip">
            <span>
              hidden: {name}
              <span class="weak">{removed(tree.hiddenTimes(fn))}</span>
            </span>
            <button type="button" aria-label={`Show ${name}`} onClick={() => page.unhide(fn)}>
              ×
            </button>
          </span>
        );
      })}
    </>
  );
}
