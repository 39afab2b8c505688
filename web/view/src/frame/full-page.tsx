import { formatTime } from "@flamelet/model";
import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import type { Page } from "../state/page.ts";

export type FullPage = "connecting" | "unreachable" | "token" | "version" | "refused" | "nothing";

/** What takes the whole page, because there is nothing to show yet or ever; null: show the view. */
export function fullPageState(page: Page): FullPage | null {
  const { state, refusal } = page.connection.value;
  if (state === "refused") {
    if (refusal?.id === 1001) return "token";
    return refusal?.id === 1002 ? "version" : "refused";
  }
  if (page.store.version === 0) return state === "lost" ? "unreachable" : "connecting";
  const { tasks, functions } = page.store;
  return tasks.size === 0 && functions.size <= 1 ? "nothing" : null;
}

export function FullPageState({ state }: { state: FullPage }): JSX.Element {
  const page = usePage();
  const { refusal } = page.connection.value;
  switch (state) {
    case "connecting":
      return (
        <Card title="Connecting">
          <p>To the program at {location.host}. It answers even while it is busy.</p>
        </Card>
      );
    case "unreachable":
      return (
        <Card title="No connection">
          <p>
            Nobody answers at {location.host}. The program may have ended, or the tunnel to it is down. Its
            URL is on its standard error.
          </p>
          <button type="button" class="btn line" onClick={() => page.host.retry()}>
            Try now
          </button>
        </Card>
      );
    case "token":
      return (
        <Card title="This link is not for this program">
          <p>
            The token in the link is missing or belongs to another run. Each run has its own: open the URL
            that the program printed, the part after <span class="mono">#t=</span> included.
          </p>
        </Card>
      );
    case "version":
      return (
        <Card title={tooOld(refusal?.protocol) ? "This page is too old" : "This page is too new"}>
          <p>
            The page and the program speak different versions of the protocol
            {refusal?.protocol === undefined
              ? ""
              : ` (the program: ${refusal.protocol.min} to ${refusal.protocol.max})`}
            . Reload the page from the program itself.
          </p>
          <button type="button" class="btn line" onClick={() => location.reload()}>
            Reload
          </button>
        </Card>
      );
    case "refused":
      return (
        <Card title="The program refused the connection">
          <p>{refusal?.message || "It gave no reason."}</p>
          <button type="button" class="btn line" onClick={() => page.host.retry()}>
            Try again
          </button>
        </Card>
      );
    default:
      return <Nothing />;
  }
}

/** The page speaks version 1 only: a server whose least version is above it is newer. */
function tooOld(protocol: { min: number } | undefined): boolean {
  return protocol === undefined || protocol.min > 1;
}

function Card({ title, children }: { title: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <div class="whole" data-testid="full-page">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

function Nothing(): JSX.Element {
  const page = usePage();
  const session = page.session.value;
  const { status } = page.store;
  return (
    <Card title={status?.switches ? "Connected. No task has run yet." : "Connected. No call was seen yet."}>
      <p>The views fill as soon as the program does something.</p>
      <ul>
        {session === null ? null : (
          <Check
            ok
            what={`Python ${session.python}`}
            note={`flamelet ${session.version}, process ${session.pid}`}
          />
        )}
        <Check
          ok={status?.switches === true}
          what="greenlet"
          note={status?.switches ? "switches are seen" : "not imported yet: threads are shown as tasks"}
        />
        {status === null ? null : (
          <Check ok what="Clock" note={`${status.clock}, ${formatTime(status.reading).text} a reading`} />
        )}
        <Check ok={false} what="First call" note={`waiting for ${formatTime(page.store.now).text}`} />
      </ul>
    </Card>
  );
}

function Check({ ok, what, note }: { ok: boolean; what: string; note: string }): JSX.Element {
  return (
    <li>
      <span class={ok ? "check ok" : "check weak"}>{ok ? "✓" : "…"}</span>
      {what} <span class="weak">{note}</span>
    </li>
  );
}
