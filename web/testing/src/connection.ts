/** The server's side of one websocket: what protocol.md says under "Connection life" and "Messages". */
import {
  checkCommand,
  checkInitialize,
  checkSubscribe,
  decodeRequest,
  type Envelope,
  ErrorId,
  PROTOCOL_VERSION,
  RequestError,
  type ServedProcess,
  type Session,
  type SubscribeArguments,
  tokenOf,
} from "@flamelet/protocol";
import { type Picture, updateBetween } from "./picture.ts";

export interface Peer {
  send(text: string): void;
  close(code: number): void;
}

export interface ConnectionOptions {
  token: string;
  session: () => Session;
  /** The newest picture; it may be the same as before. */
  picture: () => Picture;
  /** Without it the server is one that does not know of other processes, and refuses to say. */
  processes?: () => readonly ServedProcess[];
}

/** Answers requests; push() sends an update when one is due. Times are in ms of any clock. */
export class Connection {
  private seq = 0;
  private open = true;
  private initialized = false;
  private subscriptions = 0;
  private args: Required<SubscribeArguments> | null = null;
  private last: Picture | null = null;
  private lastSent = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly peer: Peer,
    private readonly options: ConnectionOptions,
  ) {}

  get ready(): boolean {
    return this.initialized;
  }

  receive(text: string, now: number): void {
    if (!this.open) return;
    try {
      const envelope = decodeRequest(text);
      if (!this.initialized && envelope.command !== "initialize") {
        throw new RequestError(ErrorId.notInitialized, envelope.seq, "the first message must be initialize");
      }
      this.perform(envelope, now);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.refuse(error, text);
    }
  }

  /** Sends an update if the subscription's rate allows one now. `busy`: the client reads slowly, wait for it. */
  push(now: number, busy = false): void {
    if (this.args === null || busy || now - this.lastSent < 1000 / this.args.rate - 1) return;
    this.update(now);
  }

  /** The program has ended: a last update, `terminated`, and the end. */
  end(now: number): void {
    if (!this.open) return;
    if (this.args !== null) this.update(now);
    if (this.initialized) this.send({ type: "event", event: "terminated" });
    this.close(1000);
  }

  private update(now: number): void {
    const picture = this.options.picture();
    const update = updateBetween(this.last, picture, this.subscriptions, this.args ?? {});
    this.last = picture;
    this.lastSent = now;
    this.send({ type: "event", event: "flamelet/update", body: update });
  }

  private perform(envelope: Envelope, now: number): void {
    switch (checkCommand(envelope)) {
      case "initialize":
        this.initialize(envelope);
        break;
      case "flamelet/subscribe":
        this.args = checkSubscribe(envelope);
        this.last = null;
        this.answer(envelope, { subscription: ++this.subscriptions });
        this.update(now);
        break;
      case "flamelet/unsubscribe":
        this.args = null;
        this.answer(envelope);
        break;
      case "flamelet/processes":
        this.tellProcesses(envelope);
        break;
      case "disconnect":
        this.answer(envelope);
        this.close(1000);
        break;
    }
  }

  private initialize(envelope: Envelope): void {
    if (this.initialized) {
      throw new RequestError(ErrorId.initializedTwice, envelope.seq, "initialize was sent before");
    }
    if (tokenOf(envelope) !== this.options.token) {
      throw new RequestError(ErrorId.badToken, envelope.seq, "token: wrong or missing");
    }
    const args = checkInitialize(envelope);
    if (args.protocol.min > PROTOCOL_VERSION || args.protocol.max < PROTOCOL_VERSION) {
      throw new RequestError(ErrorId.noCommonVersion, envelope.seq, "protocol: no common version");
    }
    this.initialized = true;
    this.answer(envelope, { flamelet: this.options.session() });
    this.send({ type: "event", event: "initialized" });
  }

  private tellProcesses(envelope: Envelope): void {
    const { processes } = this.options;
    if (processes === undefined) {
      throw new RequestError(ErrorId.unknownCommand, envelope.seq, `command: unknown: ${envelope.command}`);
    }
    this.answer(envelope, { processes: processes() });
  }

  private refuse(error: RequestError, text: string): void {
    if (error.seq === 0) {
      this.close(1007);
      return;
    }
    const versions = { min: PROTOCOL_VERSION, max: PROTOCOL_VERSION };
    this.send({
      type: "response",
      request_seq: error.seq,
      success: false,
      command: commandOf(text),
      message: error.message,
      body: {
        error: { id: error.id, format: error.message, showUser: true },
        ...(error.id === ErrorId.noCommonVersion && { protocol: versions }),
      },
    });
    const fatal: readonly number[] = [ErrorId.badToken, ErrorId.noCommonVersion, ErrorId.notInitialized];
    if (fatal.includes(error.id) || (error.id === ErrorId.notARequest && !this.initialized)) this.close(1008);
  }

  private answer(envelope: Envelope, body?: object): void {
    const { seq, command } = envelope;
    this.send({ type: "response", request_seq: seq, success: true, command, ...(body && { body }) });
  }

  private send(message: object): void {
    this.peer.send(JSON.stringify({ seq: ++this.seq, ...message }));
  }

  private close(code: number): void {
    this.open = false;
    this.args = null;
    this.peer.close(code);
  }
}

function commandOf(text: string): string {
  const command = (JSON.parse(text) as { command?: unknown }).command;
  return typeof command === "string" ? command : "";
}
