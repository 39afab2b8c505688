import type { JSX } from "preact";
import { Time } from "../parts/quantity.tsx";
import { usePage } from "../state/context.ts";
import { gilWaits } from "../state/gil-wait.ts";

const MOST = 6;

/** Who waited for the GIL, and who held it: nothing that these tasks do can mend that. */
export function GilWaits(): JSX.Element | null {
  const page = usePage();
  const { tasks, threads } = page.store;
  const lines = gilWaits(page.store).slice(0, MOST);
  if (lines.length === 0) return null;
  return (
    <section class="card" data-testid="gil-waits">
      <h3>
        Waited for the GIL <span class="weak">and who held it; estimated</span>
      </h3>
      {lines.map((line) => {
        const row = line.task === 0 ? -1 : tasks.rowOf(line.task);
        const name =
          row >= 0 ? tasks.nameOf(row) : line.task > 0 ? `#${line.task}` : threads.called(line.thread);
        return (
          <button
            key={line.id}
            type="button"
            class="entry task-line gil-line"
            disabled={row < 0}
            title={`${name}${line.place === "" ? "" : `, in ${line.place}`}: the GIL was held by ${line.holder}`}
            onClick={() => page.openTask(line.task)}
          >
            <span class="task cut">{name}</span>
            <span class="fill cut weak">{line.holder}</span>
            <span class="value">
              <Time ns={line.waited} />
            </span>
          </button>
        );
      })}
    </section>
  );
}
