import { formatClock, formatCount, formatPercent } from "@flamelet/model";
import type { JSX } from "preact";
import { KeyButton } from "../parts/key-button.tsx";
import { ALL_KINDS, Bar, KindHead, ModuleSwatch } from "../parts/marks.tsx";
import { Time } from "../parts/quantity.tsx";
import { StateText } from "../parts/task-text.tsx";
import { usePage } from "../state/context.ts";
import { gilWaits } from "../state/gil-wait.ts";
import { hubTitle } from "../state/selectors.ts";
import { Facts } from "./numbers.tsx";

/** A task: what it does now, its four times, its stack. */
export function TaskSections({ id }: { id: number }): JSX.Element {
  const page = usePage();
  const { store } = page;
  const { tasks, threads, functions } = store;
  const row = tasks.rowOf(id);
  if (row < 0) {
    return (
      <section>
        <h2 class="name">
          Task <span class="weak">#{id}</span>
        </h2>
        <p class="weak">It has ended and is forgotten. Its group keeps its times.</p>
      </section>
    );
  }
  const state = page.describe(row);
  const times = tasks.times(row);
  const lifetime = tasks.lifetime(row);
  const thread = threads.rowOf(tasks.thread[row]!);
  const kinds = ALL_KINDS.filter((kind) => kind !== "idle" || times.idle > 0);
  const stack = store.nodes.path(tasks.node[row]!).reverse();
  const session = page.session.value;
  return (
    <>
      <section>
        <h2 class="name" data-testid="inspector-name">
          {tasks.nameOf(row)} <span class="weak">#{id}</span>
        </h2>
        <p class="mid" data-testid="inspector-state">
          <StateText state={state} />
          {state.place === "" ? null : (
            <>
              {state.activity === "waiting" ? " at " : " in "}
              <b class="strong">{state.place}</b>
            </>
          )}
        </p>
        <div class="actions">
          <KeyButton keys="F" onClick={() => page.openTaskFlame(id)}>
            Flame
          </KeyButton>
          {page.view.value === "timeline" ? null : (
            <KeyButton keys="T" onClick={() => page.openTimeline(id)}>
              Timeline
            </KeyButton>
          )}
          <KeyButton keys="P" onClick={() => page.togglePin(id)}>
            {page.pinned.value.includes(id) ? "Unpin" : "Pin"}
          </KeyButton>
        </div>
      </section>
      <section>
        <table class="numbers">
          <tbody>
            {kinds.map((kind) => (
              <tr key={kind}>
                <KindHead kind={kind} />
                <td>
                  <Time ns={times[kind]} />
                </td>
                <td class="weak">{formatPercent(lifetime > 0 ? times[kind] / lifetime : 0).text}</td>
              </tr>
            ))}
            <tr class="sum">
              <th scope="row">lifetime</th>
              <td>
                <Time ns={lifetime} />
              </td>
              <td />
            </tr>
          </tbody>
        </table>
        <Bar times={times} kinds={{ cpu: true, blocked: true, waited: true, idle: true }} full={lifetime} />
        <Facts
          facts={[
            ["switches", formatCount(tasks.switches[row]!)],
            ["group", page.groupName(tasks.group[row]!)],
            thread < 0
              ? null
              : ["thread", [hubTitle(page, thread), threads.nameOf(thread)].filter(unlike).join(", ")],
            session === null ? null : ["began", formatClock(session.epoch, tasks.begin[row]!)],
          ]}
        />
      </section>
      <TaskGil id={id} />
      <section>
        <h3>
          {state.activity === "ended" ? "Last stack" : "Stack now"} <span class="weak">innermost first</span>
        </h3>
        <div data-testid="stack">
          {stack.length === 0 ? <p class="weak">No Python function has been entered yet.</p> : null}
          {stack.map((fn, i) => (
            <button
              key={i}
              type="button"
              class="relation"
              title={`${functions.qualnameOf(fn)}\n${functions.placeOf(fn)}`}
              onClick={() => page.openFlame(tasks.group[row]!, stack.slice(i).reverse())}
            >
              <ModuleSwatch token={page.colours.token(page.modules.of(fn))} />
              <span class={`fill cut${i === 0 ? " strong" : ""}`}>{functions.qualnameOf(fn)}</span>
              <span class="mono weak place">{page.placeOf(fn, 22)}</span>
            </button>
          ))}
        </div>
      </section>
    </>
  );
}

/** For whom the task waited when it waited for the GIL. */
function TaskGil({ id }: { id: number }): JSX.Element | null {
  const lines = gilWaits(usePage().store, id);
  if (lines.length === 0) return null;
  return (
    <section data-testid="task-gil">
      <h3>
        Waited for the GIL, held by <span class="weak">estimated</span>
      </h3>
      {lines.map((line) => (
        <div key={line.id} class="relation" title={line.place === "" ? undefined : `in ${line.place}`}>
          <span class="fill cut">{line.holder}</span>
          <span class="value">
            <Time ns={line.waited} />
          </span>
        </div>
      ))}
    </section>
  );
}

function unlike(text: string, i: number, all: string[]): boolean {
  return text !== "" && all.indexOf(text) === i;
}
