import { formatDuration, type HubReport, NARROW_SPACE } from "@flamelet/model";
import type { JSX } from "preact";
import { KeyButton } from "../parts/key-button.tsx";
import { Swatch } from "../parts/marks.tsx";
import { usePage } from "../state/context.ts";
import { isOver } from "../state/selectors.ts";

/** The answer in a sentence: who holds which hub, for how long, and why. */
export function CulpritLine({ report }: { report: HubReport }): JSX.Element {
  const page = usePage();
  const { culprit } = report;
  if (culprit === null) {
    const threshold = page.session.value?.threshold ?? 100e6;
    return (
      <div class="say" data-testid="culprit">
        <span class="dot ok" aria-hidden="true" />
        <span class="cut mid">
          {report.sentence || `No hub was held for more than ${formatDuration(threshold)}.`}
        </span>
      </div>
    );
  }
  const over = isOver(page);
  const kind = culprit.blocked >= culprit.cpu ? "blocked" : "cpu";
  return (
    <div class="say" data-testid="culprit" data-kind={kind}>
      <Swatch kind={kind} />
      <span class="cut" title={report.sentence}>
        {report.parts.map((part, i) => (
          <span key={i} class={WEIGHTS[part.role] ?? ""} data-role={part.role}>
            {over ? (PAST[part.text] ?? part.text) : part.text}
          </span>
        ))}
      </span>
      {culprit.lasting > 0 && !over ? (
        <span class="is-blocked strong nowrap">
          holds it now, {formatDuration(culprit.lasting).replaceAll(" ", NARROW_SPACE)}
        </span>
      ) : null}
      <span class="fill" />
      <KeyButton keys="F" onClick={() => page.openFlame(culprit.group, culprit.path)}>
        Flame
      </KeyButton>
      <KeyButton keys="T" onClick={() => page.openTimeline(culprit.task)}>
        Timeline
      </KeyButton>
    </div>
  );
}

/** When the program has ended, it held and no longer holds. */
const PAST: Readonly<Record<string, string>> = { " holds ": " held ", " has held ": " held " };

const WEIGHTS: Readonly<Record<string, string>> = {
  actor: "strong",
  share: "strong",
  place: "strong",
  file: "mono weak file",
};
