import { formatClock, formatCount, formatDuration } from "@flamelet/model";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../state/context.ts";

/** One line that says why the numbers stand still. All that was seen stays on the screen. */
export function Banner(): JSX.Element | null {
  const page = usePage();
  const connection = page.connection.value;
  const session = page.session.value;
  const clock = (instant: number): string => (session === null ? "" : formatClock(session.epoch, instant));
  if (connection.state === "lost") return <Lost at={clock(page.store.now)} />;
  if (connection.state === "connecting") {
    return (
      <div class="banner warn" role="status" data-testid="banner">
        <span>Connecting again. What you see is the last state.</span>
      </div>
    );
  }
  if (connection.state === "ended") {
    return (
      <div class="banner" role="status" data-testid="banner">
        <span class="cut">
          <b class="strong">The program ended</b> at {clock(page.store.now)}, after{" "}
          {formatDuration(page.store.now)}. All numbers are final.
        </span>
      </div>
    );
  }
  if (page.store.status?.state === "stopped") {
    return (
      <div class="banner" role="status" data-testid="banner">
        <span class="cut">
          <b class="strong">Profiling was stopped</b> by the program at {clock(page.store.now)}. It may start
          it again.
        </span>
      </div>
    );
  }
  const lost = page.store.status?.lost;
  const shed = lost === undefined ? 0 : lost.events + lost.tasks;
  if (shed > 0) {
    return (
      <div class="banner warn" role="status" data-testid="banner">
        <span class="cut">
          <b class="strong">Memory for the trees is full.</b> {formatCount(shed)} calls and tasks are counted
          in their callers instead of on their own.
        </span>
      </div>
    );
  }
  return null;
}

function Lost({ at }: { at: string }): JSX.Element {
  const page = usePage();
  const { retryAt } = page.connection.value;
  const [, setBeat] = useState(0);
  useEffect(() => {
    // Time that passes without updates still moves the strips' edge and the countdown.
    const timer = setInterval(() => {
      setBeat((beat) => beat + 1);
      page.updates.value++;
      page.ticks.value++;
    }, 500);
    return () => clearInterval(timer);
  }, [page]);
  const seconds = retryAt === undefined ? 0 : Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  return (
    <div class="banner warn" role="status" data-testid="banner">
      <span class="cut">
        <b class="strong">Connection lost</b> at {at}. What you see is the last state; nothing is thrown away.
      </span>
      <span class="fill" />
      <span class="weak nowrap" aria-hidden="true">
        {seconds > 0 ? `Next try in ${seconds} s` : "Trying"}
      </span>
      <button type="button" class="btn line" onClick={() => page.host.retry()}>
        Try now
      </button>
    </div>
  );
}
