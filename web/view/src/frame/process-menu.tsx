import { fileName, formatAge, formatClock, type ProcessRow, processRows } from "@flamelet/model";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { CheckMark, Chevron } from "../parts/marks.tsx";
import { usePage } from "../state/context.ts";
import { menuMove } from "../state/menu-keys.ts";
import { cameThroughTunnel, linkTo, portOf } from "../state/process-address.ts";

const MENU_ID = "processes";

/** Which process the page looks at: its name, and a menu where others are served too. */
export function Program(): JSX.Element | null {
  const page = usePage();
  const [open, setOpen] = useState(false);
  const session = page.session.value;
  const list = page.processes.value;
  useEffect(() => {
    // Its menu is gone with the list, and nobody tells of that.
    if (list === null) setOpen(false);
  }, [list]);
  if (session === null) return null;
  const name = (
    <>
      <b class="strong cut">{fileName(session.program)}</b> <span class="weak">{session.pid}</span>
    </>
  );
  const title = `${session.program}, Python ${session.python}`;
  // An open menu stays until it is closed, also when the last of the others has ended.
  if (list !== null && (open || list.processes.some(({ self }) => !self))) {
    return (
      <>
        <MenuButton open={open} title={title}>
          {name}
        </MenuButton>
        <ProcessMenu open={open} onOpen={setOpen} />
      </>
    );
  }
  return page.narrow.value ? null : (
    <div class="process" data-testid="program" title={title}>
      {name}
    </div>
  );
}

function MenuButton(props: { open: boolean; title: string; children: JSX.Element }): JSX.Element {
  return (
    <button
      type="button"
      class="btn process"
      data-testid="process-button"
      aria-haspopup="menu"
      aria-expanded={props.open}
      title={`${props.title}. Choose another process`}
      popovertarget={MENU_ID}
      onKeyDown={(event) => {
        if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
        event.preventDefault();
        document.getElementById(MENU_ID)?.showPopover();
      }}
    >
      <span class="process" data-testid="program">
        {props.children}
      </span>
      <Chevron />
    </button>
  );
}

/** The popover. Focus is in it as long as it is open, so its keys never reach the views. */
function ProcessMenu(props: { open: boolean; onOpen: (open: boolean) => void }): JSX.Element {
  const page = usePage();
  const popover = useRef<HTMLDivElement>(null);
  const focused = useRef(0);
  const list = page.processes.value ?? { processes: [], at: 0 };
  const rows = processRows(list.processes);
  const state = page.connection.value.state;
  const stale = state !== "live";
  const own = list.processes.find(({ self }) => self);
  const tunnel = own !== undefined && cameThroughTunnel(location.href, own.url);

  const items = (): HTMLElement[] => [
    ...(popover.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? []),
  ];
  const close = (): void => {
    popover.current?.hidePopover();
    document.querySelector<HTMLElement>(`[popovertarget=${MENU_ID}]`)?.focus();
  };
  useLayoutEffect(() => {
    // The item that had the focus may have gone with its process.
    if (!props.open || popover.current?.contains(document.activeElement)) return;
    const all = items();
    (all[Math.min(focused.current, all.length - 1)] ?? popover.current)?.focus();
  });

  const keyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      close();
      return;
    }
    // The focus goes on from the button.
    if (event.key === "Tab") close();
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const item = all[at];
    if (item !== undefined && (event.key === " " || (event.key === "Enter" && !item.matches("a")))) {
      event.preventDefault();
      item.click();
      return;
    }
    const texts = rows.map(({ name, process }) => [name, String(process.pid)]);
    const next = menuMove(event.key, at, texts);
    if (next === null) return;
    event.preventDefault();
    all[next]?.focus();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu in it
    <div
      ref={popover}
      id={MENU_ID}
      class="menu processes"
      data-testid="processes"
      popover="auto"
      tabIndex={-1}
      onBeforeToggle={(event) => {
        if (event.newState !== "open") return;
        page.host.askProcesses();
        const button = document.querySelector(`[popovertarget=${MENU_ID}]`)?.getBoundingClientRect();
        event.currentTarget.style.setProperty("--left", `${button?.left ?? 0}px`);
      }}
      onToggle={(event) => {
        const open = event.newState === "open";
        focused.current = 0;
        if (open) {
          const all = items();
          (all.find((item) => item.hasAttribute("aria-current")) ?? all[0])?.focus();
        }
        props.onOpen(open);
      }}
      onFocusIn={(event) => {
        focused.current = Math.max(0, items().indexOf(event.target as HTMLElement));
      }}
      onKeyDown={keyDown}
    >
      <p class="weak" id="processes-head" data-testid="processes-head">
        {stale ? `Last known at ${formatClock(list.at, 0)}` : "Watched processes"}
      </p>
      <div role="menu" class="list" aria-label="Processes" aria-describedby="processes-head processes-note">
        {rows.map((row) => (
          <ProcessItem
            key={`${row.process.pid} ${row.process.started}`}
            row={row}
            ended={row.process.self && state === "ended"}
            now={stale ? list.at : Date.now()}
            port={tunnel}
            onClose={close}
          />
        ))}
      </div>
      {tunnel ? (
        <p class="note" id="processes-note" data-testid="processes-note">
          This page came through a tunnel or proxy: its program serves port {portOf(own.url)}. Each other
          process needs its own port forwarded, to the same port here.
        </p>
      ) : null}
    </div>
  );
}

function ProcessItem(props: {
  row: ProcessRow;
  ended: boolean;
  /** Date.now() up to which its age counts. */
  now: number;
  /** Whether its port is of interest. */
  port: boolean;
  onClose: () => void;
}): JSX.Element {
  const { process, name, depth, parent } = props.row;
  const content = (
    <>
      <span class="check">{process.self ? <CheckMark /> : null}</span>
      {depth > 0 ? (
        <span class="branch" style={{ marginLeft: `${12 * (Math.min(depth, 5) - 1)}px` }} />
      ) : null}
      <span class={process.self ? "cut strong" : "cut"}>{name}</span>
      <span class="weak">{process.pid}</span>
      {parent > 0 ? <span class="unseen">, child of {parent},</span> : null}
      <span class="fill" />
      {props.port ? <span class="weak">port {portOf(process.url)}</span> : null}
      <span class="weak age">{props.ended ? "ended" : formatAge(props.now / 1000 - process.started)}</span>
    </>
  );
  const title = `${process.script}\nPython ${process.python}${parent > 0 ? `\nchild of ${parent}` : ""}`;
  const href = linkTo(process.url);
  if (!process.self && href !== null) {
    return (
      <a role="menuitem" tabIndex={-1} href={href} title={title} data-pid={process.pid}>
        {content}
      </a>
    );
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the menu presses it
    <div
      role="menuitem"
      tabIndex={-1}
      aria-current={process.self ? "page" : undefined}
      aria-disabled={process.self ? undefined : true}
      title={process.self ? title : `${title}\nIts address is not one of this machine: ${process.url}`}
      data-pid={process.pid}
      onClick={process.self ? props.onClose : undefined}
    >
      {content}
    </div>
  );
}
