import { decode, ProtocolError, type Session, type Update } from "@flamelet/protocol";
import { Store } from "./store.ts";
import { BadUpdate } from "./tables/columns.ts";

/** A recording is not one, or is damaged elsewhere than at its end. The message names the line. */
export class BadRecording extends Error {
  override name = "BadRecording";
}

export interface Recording {
  session: Session | null;
  /** As of the last update. */
  store: Store;
  updates: number;
  /** `terminated` is in it: it ends where the program ended. */
  complete: boolean;
  /** The last line was cut off and left out. */
  truncated: boolean;
}

export type RecordedMessage = { kind: "session"; session: Session } | { kind: "update"; update: Update };

/**
 * Reads the lines of a recording (unpacked) into a store, or into `store`. `onMessage` sees each message before it is
 * applied, to stop at an instant: it returns false to end the reading there.
 */
export function readRecording(
  lines: Iterable<string>,
  options: { store?: Store; onMessage?: (message: RecordedMessage) => boolean } = {},
): Recording {
  const recording: Recording = {
    session: null,
    store: options.store ?? new Store(),
    updates: 0,
    complete: false,
    truncated: false,
  };
  const onMessage = options.onMessage ?? (() => true);
  let number = 0;
  /** A line that is no JSON is a cut tail if nothing follows it, else damage. */
  let cut: { number: number; message: string } | null = null;
  for (const line of lines) {
    number++;
    if (line.trim() === "") continue;
    if (cut !== null) throw new BadRecording(`line ${cut.number}: ${cut.message}`);
    if (!isJson(line)) {
      cut = { number, message: "not JSON" };
      continue;
    }
    if (!readLine(recording, line, number, onMessage)) return recording;
  }
  if (cut !== null && recording.session === null)
    throw new BadRecording(`line ${cut.number}: ${cut.message}`);
  if (number === 0 || (recording.session === null && recording.updates === 0)) {
    throw new BadRecording("no message of flamelet is in it");
  }
  recording.truncated = cut !== null;
  return recording;
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function readLine(
  recording: Recording,
  line: string,
  number: number,
  onMessage: (message: RecordedMessage) => boolean,
): boolean {
  try {
    const message = decode(line);
    switch (message.kind) {
      case "initialize":
        recording.session = message.session;
        return onMessage({ kind: "session", session: message.session });
      case "update":
        if (!onMessage({ kind: "update", update: message.update })) return false;
        recording.store.apply(message.update);
        recording.updates++;
        return true;
      case "terminated":
        recording.complete = true;
        return true;
      default:
        return true;
    }
  } catch (error) {
    if (
      error instanceof ProtocolError ||
      error instanceof BadUpdate ||
      (error as Error).name === "MissedUpdate"
    ) {
      throw new BadRecording(`line ${number}: ${(error as Error).message}`);
    }
    throw error;
  }
}
