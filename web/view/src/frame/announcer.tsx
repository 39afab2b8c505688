import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { usePage } from "../state/context.ts";

/** Tells assistive technology who holds a hub: when it is another, not each time that a number changes. */
export function Announcer(): JSX.Element {
  const page = usePage();
  const { culprit, sentence } = page.report();
  const who = culprit === null ? "" : `${culprit.thread} ${culprit.path.join()}`;
  const said = useRef({ who: "", sentence: "" });
  if (said.current.who !== who) said.current = { who, sentence: culprit === null ? "" : sentence };
  return (
    <div class="unseen" aria-live="polite">
      {said.current.sentence}
    </div>
  );
}
