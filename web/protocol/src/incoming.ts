import { array, boolean, integer, number, object, optional, ProtocolError, string } from "./check.ts";
import type { ServedProcess, Session, Update } from "./messages.ts";
import { checkUpdate } from "./update.ts";

export const SEQ_MAX = 0x7fffffff;

/** What a server sends, decoded and checked. Messages of other kinds are `other`: a newer server may send them. */
export type Incoming =
  | { kind: "initialize"; seq: number; requestSeq: number; session: Session }
  | { kind: "subscribe"; seq: number; requestSeq: number; subscription: number }
  | { kind: "processes"; seq: number; requestSeq: number; processes: readonly ServedProcess[] }
  | {
      kind: "failed";
      seq: number;
      requestSeq: number;
      command: string;
      /** Id of the error, 0 where the response has none. */
      id: number;
      message: string;
      protocol?: { min: number; max: number };
    }
  | { kind: "initialized"; seq: number }
  | { kind: "update"; seq: number; update: Update }
  | { kind: "terminated"; seq: number }
  | { kind: "other"; seq: number; name: string };

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ProtocolError("", `not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function checkSession(value: unknown, path: string): Session {
  const session = object(value, path);
  integer(session.protocol, `${path}.protocol`, 1);
  string(session.version, `${path}.version`);
  integer(session.pid, `${path}.pid`);
  string(session.program, `${path}.program`);
  string(session.python, `${path}.python`);
  integer(session.epoch, `${path}.epoch`);
  integer(session.threshold, `${path}.threshold`);
  return session as unknown as Session;
}

export function checkVersions(value: unknown, path: string): { min: number; max: number } {
  const range = object(value, path);
  const min = integer(range.min, `${path}.min`);
  const max = integer(range.max, `${path}.max`);
  if (max < min) throw new ProtocolError(`${path}.max`, `expected at least min, ${min}, got ${max}`);
  return { min, max };
}

export function checkProcesses(value: unknown, path: string): readonly ServedProcess[] {
  return array(value, path).map((item, i) => {
    const at = `${path}[${i}]`;
    const { pid, parent, script, python, started, url, self } = object(item, at);
    return {
      pid: integer(pid, `${at}.pid`),
      parent: integer(parent, `${at}.parent`),
      script: string(script, `${at}.script`),
      python: string(python, `${at}.python`),
      started: number(started, `${at}.started`, 0, Number.MAX_VALUE),
      url: string(url, `${at}.url`),
      self: boolean(self, `${at}.self`),
    };
  });
}

function failed(message: Readonly<Record<string, unknown>>, seq: number, requestSeq: number): Incoming {
  const command = string(message.command, "command");
  const body = optional(message.body, (value) => object(value, "body"));
  const error = optional(body?.error, (value) => object(value, "body.error"));
  const id = error === undefined ? 0 : integer(error.id, "body.error.id");
  const format = error === undefined ? "" : string(error.format, "body.error.format");
  const text = optional(message.message, (value) => string(value, "message"));
  const protocol = optional(body?.protocol, (value) => checkVersions(value, "body.protocol"));
  return {
    kind: "failed",
    seq,
    requestSeq,
    command,
    id,
    // `format` names what was wrong; `message` may be a short code only.
    message: format || text || `${command} failed`,
    ...(protocol && { protocol }),
  };
}

/** Decodes one message of a server. Throws ProtocolError, with the path of what is wrong. */
export function decode(text: string): Incoming {
  const message = object(parseJson(text), "");
  const seq = integer(message.seq, "seq", 1, SEQ_MAX);
  if (message.type === "event") {
    const name = string(message.event, "event");
    switch (name) {
      case "flamelet/update":
        return { kind: "update", seq, update: checkUpdate(message.body) };
      case "initialized":
      case "terminated":
        return { kind: name, seq };
      default:
        return { kind: "other", seq, name };
    }
  }
  if (message.type === "response") {
    const requestSeq = integer(message.request_seq, "request_seq", 0, SEQ_MAX);
    if (!boolean(message.success, "success")) return failed(message, seq, requestSeq);
    const command = string(message.command, "command");
    switch (command) {
      case "initialize": {
        const session = checkSession(object(message.body, "body").flamelet, "body.flamelet");
        return { kind: "initialize", seq, requestSeq, session };
      }
      case "flamelet/subscribe": {
        const subscription = integer(object(message.body, "body").subscription, "body.subscription");
        return { kind: "subscribe", seq, requestSeq, subscription };
      }
      case "flamelet/processes": {
        const processes = checkProcesses(object(message.body, "body").processes, "body.processes");
        return { kind: "processes", seq, requestSeq, processes };
      }
      default:
        return { kind: "other", seq, name: command };
    }
  }
  if (message.type === "request") {
    // Servers of version 1 ask nothing; a newer one may, and gets no answer.
    return { kind: "other", seq, name: string(message.command, "command") };
  }
  throw new ProtocolError("type", 'expected "request", "response" or "event"');
}
