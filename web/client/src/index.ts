import type { Session, SubscribeArguments, Update } from "@flamelet/protocol";

export type ClientState =
  /** Opening, initialize, subscribe: nothing received yet. */
  | "connecting"
  /** Updates come. */
  | "live"
  /** The connection is gone; it is tried again. */
  | "lost"
  /** The program has ended (`terminated`); nothing follows. */
  | "ended"
  /** The server does not want us: wrong token, no common version, too many clients. Not tried again. */
  | "refused";

export interface Refusal {
  /** Id of the protocol's error, 0: closed without one (1013: too many clients). */
  id: number;
  message: string;
  /** Versions that the server speaks, with error 1002. */
  protocol?: { min: number; max: number };
}

/** The part of WebSocket that is used, so that tests can give their own. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: (() => void) | null;
}

export interface ClientOptions {
  /** ws://127.0.0.1:PORT/ws */
  url: string;
  token: string;
  subscribe?: SubscribeArguments;
  /** Every change of state; `retryAt` (ms, Date.now) says when a lost connection is tried again. */
  onState?: (state: ClientState, detail: { refusal?: Refusal; retryAt?: number; reason?: string }) => void;
  onSession?: (session: Session) => void;
  /** Updates in order. The first of each connection has since 0. Throwing MissedUpdate or BadUpdate subscribes again. */
  onUpdate?: (update: Update) => void;
  socket?: (url: string, subprotocol: string) => Socket;
}

export declare class Client {
  constructor(options: ClientOptions);
  readonly state: ClientState;
  /** null before `initialize` was answered. */
  readonly session: Session | null;
  start(): void;
  /** Changes what is subscribed; the next update has since 0. */
  subscribe(args: SubscribeArguments): void;
  /** Tries a lost connection now. */
  retry(): void;
  /** Sends `disconnect` and closes. */
  stop(): void;
}
/** ws URL beside the page's: `http://h:1/x/#t=..` gives `ws://h:1/x/ws`. */
export declare function socketUrl(pageUrl: string): string;
