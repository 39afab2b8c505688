import {
  array,
  integer,
  type JsonObject,
  number,
  object,
  oneOf,
  optional,
  ProtocolError,
  string,
} from "./check.ts";
import { checkVersions, parseJson, SEQ_MAX } from "./incoming.ts";
import { ErrorId, type InitializeArguments, type Section, type SubscribeArguments } from "./messages.ts";

/** A message that a server must refuse: the error's id, and the `seq` to answer to (0: none, so close with 1007). */
export class RequestError extends Error {
  override name = "RequestError";

  constructor(
    readonly id: number,
    readonly seq: number,
    message: string,
  ) {
    super(message);
  }
}

const COMMANDS = [
  "initialize",
  "flamelet/subscribe",
  "flamelet/unsubscribe",
  "flamelet/processes",
  "disconnect",
] as const;
export type Command = (typeof COMMANDS)[number];

/** A request whose form is right; its command may be unknown and its arguments are not checked yet. */
export interface Envelope {
  seq: number;
  command: string;
  arguments: unknown;
}

/** Reads the form of a client's message. Throws RequestError: seq 0, or 1000. */
export function decodeRequest(text: string): Envelope {
  let message: JsonObject;
  let seq: number;
  try {
    message = object(parseJson(text), "");
    seq = integer(message.seq, "seq", 1, SEQ_MAX);
  } catch (error) {
    throw new RequestError(ErrorId.notARequest, 0, error instanceof Error ? error.message : String(error));
  }
  if (message.type !== "request")
    throw new RequestError(ErrorId.notARequest, seq, 'type: expected "request"');
  if (typeof message.command !== "string") {
    throw new RequestError(ErrorId.notARequest, seq, "command: expected a string");
  }
  return { seq, command: message.command, arguments: message.arguments };
}

/** Throws RequestError 1004. */
export function checkCommand(envelope: Envelope): Command {
  const command = COMMANDS.find((known) => known === envelope.command);
  if (command === undefined) {
    throw new RequestError(ErrorId.unknownCommand, envelope.seq, `command: unknown: ${envelope.command}`);
  }
  return command;
}

function checked<T>(seq: number, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof ProtocolError) throw new RequestError(ErrorId.badArgument, seq, error.message);
    throw error;
  }
}

/** The token alone, "" where there is none: a server looks at it first, so that a stranger learns nothing else. */
export function tokenOf(envelope: Envelope): string {
  const args = envelope.arguments;
  const token = typeof args === "object" && args !== null ? (args as JsonObject).token : undefined;
  return typeof token === "string" ? token : "";
}

/** Throws RequestError 1005. */
export function checkInitialize(envelope: Envelope): InitializeArguments {
  return checked(envelope.seq, () => {
    const args = object(envelope.arguments, "arguments");
    const clientID = optional(args.clientID, (value) => string(value, "arguments.clientID"));
    const clientName = optional(args.clientName, (value) => string(value, "arguments.clientName"));
    return {
      adapterID: oneOf(args.adapterID, "arguments.adapterID", ["flamelet"]),
      ...(clientID !== undefined && { clientID }),
      ...(clientName !== undefined && { clientName }),
      token: string(args.token, "arguments.token"),
      protocol: checkVersions(args.protocol, "arguments.protocol"),
    };
  });
}

/** What a subscription is to where it does not say. */
export const SECTIONS: readonly Section[] = ["threads", "tasks", "tree", "slices"];
const ALL_SECTIONS: readonly Section[] = [...SECTIONS, "timeline"];

/** Fills in the defaults. Throws RequestError 1005. */
export function checkSubscribe(envelope: Envelope): Required<SubscribeArguments> {
  return checked(envelope.seq, () => {
    const args = object(envelope.arguments ?? {}, "arguments");
    const what = optional(args.what, (value) =>
      array(value, "arguments.what").map((item, i) => oneOf(item, `arguments.what[${i}]`, ALL_SECTIONS)),
    );
    const tree = optional(args.tree, (value): Required<SubscribeArguments>["tree"] => {
      const scope = object(value, "arguments.tree");
      const of = oneOf(scope.of, "arguments.tree.of", ["all", "group"]);
      return of === "all" ? { of } : { of, group: integer(scope.group, "arguments.tree.group", 0, SEQ_MAX) };
    });
    const rate = optional(args.rate, (value) => number(value, "arguments.rate", 0.1, 20));
    return { what: what ?? [...SECTIONS], tree: tree ?? { of: "all" }, rate: rate ?? 5 };
  });
}
