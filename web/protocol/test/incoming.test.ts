import { badMessages, conversation, goldenUpdates, recordingLines } from "@flamelet/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkUpdate, decode, ProtocolError, type Update } from "../src/index.ts";

function errorOf(run: () => unknown): ProtocolError {
  try {
    run();
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
  throw new Error("nothing was rejected");
}

describe("decode", () => {
  const server = conversation().filter(({ from }) => from === "server");

  it("GIVEN the golden conversation WHEN the server's messages are decoded THEN each has its kind", () => {
    const kinds = server.map(({ message }) => decode(JSON.stringify(message)).kind);
    expect(kinds).toEqual([
      ...["initialize", "initialized", "subscribe", "update", "update", "update"],
      ...["subscribe", "update", "update", "terminated"],
    ]);
  });

  it("GIVEN the golden recording WHEN it is decoded THEN every line is understood", () => {
    const kinds = recordingLines().map((line) => decode(line).kind);
    expect(kinds).toEqual(["initialize", "initialized", ...Array(5).fill("update"), "terminated"]);
  });

  it("GIVEN an update WHEN it is decoded THEN it is the body as it came", () => {
    const message = server[3]!.message;
    const decoded = decode(JSON.stringify(message));
    expect(decoded).toEqual({ kind: "update", seq: 4, update: message.body });
  });

  it.each(badMessages())(
    "GIVEN a bad message ($name) WHEN it is decoded THEN the error names $path",
    ({ message, path }) => {
      const error = errorOf(() => decode(JSON.stringify(message)));
      expect(error.path).toBe(path);
      expect(error.message.startsWith(`${path}: `)).toBe(true);
    },
  );

  it("GIVEN text that is not JSON WHEN it is decoded THEN it is rejected", () => {
    expect(errorOf(() => decode("{")).message).toMatch(/^not JSON/);
    expect(errorOf(() => decode("[]")).message).toBe("expected an object, got []");
  });

  it("GIVEN a failed response WHEN it is decoded THEN id, text and versions are in it", () => {
    const failed = {
      seq: 1,
      type: "response",
      request_seq: 1,
      success: false,
      command: "initialize",
      message: "failed",
      body: { error: { id: 1002, format: "too old", showUser: true }, protocol: { min: 2, max: 3 } },
    };
    expect(decode(JSON.stringify(failed))).toEqual({
      kind: "failed",
      seq: 1,
      requestSeq: 1,
      command: "initialize",
      id: 1002,
      message: "too old",
      protocol: { min: 2, max: 3 },
    });
  });

  it("GIVEN a message that a newer server might send WHEN it is decoded THEN it is passed over", () => {
    expect(decode('{"seq":1,"type":"event","event":"flamelet/more","body":7}').kind).toBe("other");
    expect(decode('{"seq":1,"type":"request","command":"ask"}').kind).toBe("other");
  });
});

describe("decode: processes", () => {
  const process = {
    ...{ pid: 41_207, parent: 41_200, script: "-m gunicorn", python: "3.12.1", started: 1.7e9 + 0.25 },
    ...{ url: "http://127.0.0.1:8731/#t=00ff", self: true },
  };
  const answer = (body: unknown): string =>
    JSON.stringify({
      ...{ seq: 3, type: "response", request_seq: 2, success: true, command: "flamelet/processes" },
      body,
    });

  it("GIVEN a list of processes WHEN it is decoded THEN it has what the page reads, and nothing else", () => {
    const other = { ...process, pid: 7, self: false };
    const decoded = decode(answer({ processes: [{ ...process, later: 1 }, other], more: 2 }));
    expect(decoded).toEqual({ kind: "processes", seq: 3, requestSeq: 2, processes: [process, other] });
    expect(decode(answer({ processes: [] }))).toMatchObject({ processes: [] });
  });

  it.each([
    ...[-1, 1.5, "7", null].map((value) => ["pid", value]),
    ...[-1, null].map((value) => ["parent", value]),
    ...[7, null].map((value) => ["script", value]),
    ...[3.12, null].map((value) => ["python", value]),
    ...[-1, "now", null].map((value) => ["started", value]),
    ...[{}, null].map((value) => ["url", value]),
    ...[1, "true", null].map((value) => ["self", value]),
  ] as [string, unknown][])(
    "GIVEN a process whose %s is %j WHEN it is decoded THEN the error names it",
    (key, value) => {
      const error = errorOf(() => decode(answer({ processes: [process, { ...process, [key]: value }] })));
      expect(error.path).toBe(`body.processes[1].${key}`);
    },
  );

  it.each([
    [undefined, "body"],
    [{}, "body.processes"],
    [{ processes: {} }, "body.processes"],
  ])("GIVEN the body %j WHEN it is decoded THEN the error names %s", (body, path) => {
    expect(errorOf(() => decode(answer(body))).path).toBe(path);
  });
});

describe("checkUpdate", () => {
  /** Paths of all values in an update, as keys and indices. */
  function leaves(value: unknown, path: (string | number)[] = []): (string | number)[][] {
    if (typeof value !== "object" || value === null) return [path];
    return Object.entries(value).flatMap(([key, inner]) =>
      leaves(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    );
  }

  function replaced(value: unknown, path: (string | number)[], by: unknown): unknown {
    const copy = structuredClone(value) as Record<string | number, unknown>;
    let at = copy;
    for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>;
    at[path[path.length - 1]!] = by;
    return copy;
  }

  // The golden program neither waits for the GIL nor is its timeline asked for.
  const update: Update = {
    ...goldenUpdates()[3]!,
    gil: {
      add: { id: [1], thread: [1], task: [2], holder: [0] },
      upd: { id: [1], node: [3], holder_node: [0], looks: [2], waited: [40e6] },
    },
    timeline: {
      first: 7,
      add: {
        ...{ thread: [1, 1], task: [1, 2], group: [1, 1], node: [2, 3] },
        ...{ begin: [5, 9], end: [9, 12], blocked: [1, 0], idle: [0, 3] },
      },
    },
  };
  const shown = (path: (string | number)[]): string =>
    path.reduce<string>(
      (text, key) => (typeof key === "number" ? `${text}[${key}]` : `${text}.${key}`),
      "body",
    );

  it("GIVEN any value of a golden update WHEN it is replaced by null THEN the error names its path", () => {
    fc.assert(
      fc.property(fc.constantFrom(...leaves(update)), (path) => {
        expect(errorOf(() => checkUpdate(replaced(update, path, null))).path).toBe(shown(path));
      }),
    );
  });

  it("GIVEN fields that nobody knows WHEN an update is checked THEN they are ignored", () => {
    const more = {
      ...update,
      later: 1,
      nodes: { ...update.nodes, del: [1], more: {} },
      status: { ...update.status, x: 1 },
    };
    expect(checkUpdate(more)).toBe(more);
    expect(errorOf(() => checkUpdate({ ...more, nodes: [] })).path).toBe("body.nodes");
  });

  it("GIVEN sums past 2^53 WHEN an update is checked THEN they pass", () => {
    const sums = { id: [1], calls: [1], cpu: [8.5e17], blocked: [0], idle: [0], waited: [0] };
    expect(() => checkUpdate({ ...update, nodes: { upd: sums } })).not.toThrow();
  });

  it("GIVEN any JSON WHEN it is checked as an update THEN it passes or is rejected with a path", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(errorOf(() => checkUpdate(JSON.parse(text))).path).toMatch(/^body/);
      }),
    );
  });
});
