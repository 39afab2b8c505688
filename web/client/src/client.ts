import {
  decode,
  ErrorId,
  type Incoming,
  PROTOCOL_VERSION,
  ProtocolError,
  type ServedProcess,
  type Session,
  type SubscribeArguments,
  type Update,
} from "@flamelet/protocol";

export type ClientState =
  /** Opening, initialize, subscribe: nothing received yet. */
  | "connecting"
  /** Updates come. */
  | "live"
  /** The connection is gone; it is tried again. */
  | "lost"
  /** The program has ended; nothing follows. */
  | "ended"
  /** The server does not want us: wrong token, no common version. Not tried again. */
  | "refused";

export interface Refusal {
  /** Id of the protocol's error. */
  id: number;
  message: string;
  /** Versions that the server speaks, with error 1002. */
  protocol?: { min: number; max: number };
}

/** The part of WebSocket that is used, so that tests and other hosts can give their own. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: (() => void) | null;
}

export interface StateDetail {
  refusal?: Refusal;
  /** When a lost connection is tried again: ms, as Date.now(). */
  retryAt?: number;
  /** Why it is lost, in words. */
  reason?: string;
}

export interface ClientOptions {
  /** ws://127.0.0.1:PORT/ws */
  url: string;
  token: string;
  clientName?: string;
  subscribe?: SubscribeArguments;
  onState?: (state: ClientState, detail: StateDetail) => void;
  onSession?: (session: Session) => void;
  /**
   * Updates in order; the first of each subscription has since 0. If it throws (the store saw a contradiction), the
   * client subscribes again, once per second at most.
   */
  onUpdate?: (update: Update) => void;
  /** Answers of askProcesses(). null: the server is too old to know. */
  onProcesses?: (processes: readonly ServedProcess[] | null) => void;
  socket?: (url: string, subprotocol: string) => Socket;
}

/** ms; doubled with each try. The first is short, since a tunnel that drops is often back at once. */
const FIRST_RETRY = 250;
const LONGEST_RETRY = 8000;
/** ms without any message after which a connection is taken for dead: a live server sends updates all the time. */
const SILENCE = 15_000;
const RESUBSCRIBE = 1000;

const openWebSocket = (url: string, subprotocol: string): Socket =>
  // A WebSocket's handlers take more than ours use.
  new WebSocket(url, subprotocol) as unknown as Socket;

/** One connection to a flamelet server, opened again when it is lost, until the program ends or the server refuses. */
export class Client {
  private current: ClientState = "connecting";
  private known: Session | null = null;
  private socket: Socket | null = null;
  private args: SubscribeArguments;
  private seq = 0;
  private initialized = false;
  /** Version that the next update builds on; null: the next one must be a whole picture. */
  private version: number | null = null;
  /** Updates of another subscription are late ones of an older one; 0: not answered yet. */
  private subscription = 0;
  private subscribeSeq = 0;
  /** The program no longer profiles: it has nothing to tell, however long. */
  private quiet = false;
  /** Of a question about processes that is not answered yet; 0: none. */
  private processesSeq = 0;
  private knowsProcesses = true;
  private tries = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private resubscribeTimer: ReturnType<typeof setTimeout> | undefined;
  private subscribedAt = Number.NEGATIVE_INFINITY;
  private stopped = true;

  constructor(private readonly options: ClientOptions) {
    this.args = options.subscribe ?? {};
  }

  get state(): ClientState {
    return this.current;
  }

  /** null before `initialize` was answered. */
  get session(): Session | null {
    return this.known;
  }

  start(): void {
    if (!this.stopped) return;
    this.stopped = false;
    this.tries = 0;
    this.setState("connecting");
    this.open();
  }

  /** Changes what is subscribed; the next update is a whole picture. */
  subscribe(args: SubscribeArguments): void {
    this.args = args;
    if (this.initialized) this.sendSubscribe();
  }

  /**
   * Asks for the user's processes that are served now; onProcesses() gets the answer. Nothing is asked where nobody takes
   * it, without a connection, while a question is open, or of a server that does not know.
   */
  askProcesses(): void {
    if (this.options.onProcesses === undefined || !this.knowsProcesses) return;
    if (!this.initialized || this.processesSeq !== 0) return;
    this.processesSeq = this.send("flamelet/processes");
  }

  /** Tries a lost connection now. */
  retry(): void {
    if (this.current !== "lost" || this.socket !== null || this.stopped) return;
    clearTimeout(this.timer);
    this.open();
  }

  /** Says goodbye and closes; start() begins anew. */
  stop(): void {
    this.stopped = true;
    if (this.socket !== null && this.initialized) this.send("disconnect");
    this.drop(1000);
  }

  private open(): void {
    const open = this.options.socket ?? openWebSocket;
    let socket: Socket;
    try {
      socket = open(this.options.url, "flamelet");
    } catch (error) {
      this.lose(error instanceof Error ? error.message : String(error));
      return;
    }
    this.socket = socket;
    this.seq = 0;
    this.listen();
    socket.onopen = () => {
      this.send("initialize", {
        adapterID: "flamelet",
        clientID: "flamelet-web",
        clientName: this.options.clientName ?? "flamelet page",
        token: this.options.token,
        protocol: { min: PROTOCOL_VERSION, max: PROTOCOL_VERSION },
      });
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.socket) this.receive(data);
    };
    socket.onclose = ({ code, reason }) => {
      if (socket === this.socket) this.lose(closeReason(code, reason));
    };
    // A close event follows each error and says more.
    socket.onerror = null;
  }

  private receive(data: unknown): void {
    this.listen();
    try {
      if (typeof data !== "string") throw new ProtocolError("", "expected text, got binary data");
      this.perform(decode(data));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      // The peer speaks something else. Trying again gives a fresh start, with growing pauses.
      this.drop(1007);
      this.lose(`the server sent a message that is not understood: ${error.message}`);
    }
  }

  private perform(message: Incoming): void {
    switch (message.kind) {
      case "initialize":
        this.initialized = true;
        this.known = message.session;
        this.options.onSession?.(message.session);
        this.sendSubscribe();
        this.askProcesses();
        break;
      case "subscribe":
        if (message.requestSeq === this.subscribeSeq) this.subscription = message.subscription;
        break;
      case "update":
        this.update(message.update);
        break;
      case "processes":
        this.processesSeq = 0;
        this.options.onProcesses?.(message.processes);
        break;
      case "terminated":
        this.stopped = true;
        this.drop(1000);
        this.setState("ended");
        break;
      case "failed":
        this.failed(message);
        break;
      default:
        break;
    }
  }

  private update(update: Update): void {
    if (this.subscription === 0 || update.subscription !== this.subscription) return;
    if (update.since !== 0 && update.since !== this.version) {
      this.resubscribe();
      return;
    }
    try {
      this.options.onUpdate?.(update);
    } catch (error) {
      console.error("flamelet: an update could not be applied", error);
      this.resubscribe();
      return;
    }
    this.version = update.version;
    this.tries = 0;
    this.quiet = update.status.state !== "running";
    this.listen();
    this.setState("live");
  }

  private failed(message: Extract<Incoming, { kind: "failed" }>): void {
    if (message.command === "flamelet/processes" && this.initialized) {
      this.processesSeq = 0;
      if (message.id === ErrorId.unknownCommand) {
        this.knowsProcesses = false;
        this.options.onProcesses?.(null);
      }
      return;
    }
    if (message.command !== "initialize" && this.initialized) {
      console.error(`flamelet: ${message.command} failed: ${message.message}`);
      return;
    }
    const { id, message: text, protocol } = message;
    this.stopped = true;
    this.drop(1000);
    this.setState("refused", { refusal: { id, message: text, ...(protocol && { protocol }) } });
  }

  private sendSubscribe(): void {
    clearTimeout(this.resubscribeTimer);
    this.resubscribeTimer = undefined;
    this.subscription = 0;
    this.version = null;
    this.subscribedAt = Date.now();
    this.subscribeSeq = this.send("flamelet/subscribe", this.args);
  }

  /** Something was missed. Not at once if it was just done: a picture that never fits must not become a flood. */
  private resubscribe(): void {
    this.subscription = 0;
    if (this.resubscribeTimer !== undefined) return;
    const wait = Math.max(0, this.subscribedAt + RESUBSCRIBE - Date.now());
    this.resubscribeTimer = setTimeout(() => this.sendSubscribe(), wait);
  }

  private send(command: string, args?: object): number {
    const seq = ++this.seq;
    this.socket?.send(JSON.stringify({ seq, type: "request", command, ...(args && { arguments: args }) }));
    return seq;
  }

  /** Starts the wait for a sign of life anew. */
  private listen(): void {
    clearTimeout(this.silence);
    if (this.quiet) return;
    this.silence = setTimeout(() => {
      this.drop(1000);
      this.lose("nothing was heard for 15 s");
    }, SILENCE);
  }

  /** Lets go of the socket; nothing of it is heard any more. */
  private drop(code: number): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    clearTimeout(this.resubscribeTimer);
    this.resubscribeTimer = undefined;
    this.initialized = false;
    this.quiet = false;
    this.processesSeq = 0;
    this.knowsProcesses = true;
    this.subscription = 0;
    this.version = null;
    const { socket } = this;
    this.socket = null;
    if (socket === null) return;
    socket.onopen = null;
    socket.onmessage = null;
    socket.onclose = null;
    try {
      // Browsers allow a page 1000 and 3000 to 4999 only.
      socket.close(code === 1000 ? 1000 : 3000 + code);
    } catch {
      // It was never open: there is nothing to close.
    }
  }

  private lose(reason: string): void {
    this.drop(1000);
    if (this.stopped) return;
    const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** this.tries++);
    this.setState("lost", { reason, retryAt: Date.now() + wait }, true);
    this.timer = setTimeout(() => this.open(), wait);
  }

  private setState(state: ClientState, detail: StateDetail = {}, always = false): void {
    if (state === this.current && !always && !(state === "connecting")) return;
    this.current = state;
    this.options.onState?.(state, detail);
  }
}

function closeReason(code: number, reason: string): string {
  if (reason !== "") return reason;
  if (code === 1013) return "the server has as many clients as it takes";
  if (code === 1000 || code === 1001) return "the server closed the connection";
  if (code === 1006) return "the connection broke, or nobody listens";
  return `the server closed the connection (${code})`;
}

/** Address of the websocket beside a page: "http://h:1/x/#t=.." gives "ws://h:1/x/ws". */
export function socketUrl(pageUrl: string): string {
  const url = new URL("ws", pageUrl);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.hash = "";
  url.search = "";
  return url.href;
}
