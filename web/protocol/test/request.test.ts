import {
  badRequests,
  Camera,
  Connection,
  type ConnectionOptions,
  Core,
  conversation,
  sessionOf,
} from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { decode } from "../src/index.ts";

const TOKEN = "0123456789abcdef".repeat(4);

/** A connection to a server with an empty program, and what it said. */
function connect(
  core = new Core(),
  more: Partial<ConnectionOptions> = {},
): { connection: Connection; sent: string[]; closed: number[] } {
  const camera = new Camera(core);
  const sent: string[] = [];
  const closed: number[] = [];
  const connection = new Connection(
    { send: (text) => sent.push(text), close: (code) => closed.push(code) },
    { token: TOKEN, session: () => sessionOf(core, "app.py", 0), picture: () => camera.take(1e9), ...more },
  );
  return { connection, sent, closed };
}

describe("requests", () => {
  it.each(badRequests())(
    "GIVEN a bad request ($name) WHEN it is received THEN it is refused with $error",
    (bad) => {
      const { connection, sent, closed } = connect();
      const hello = conversation()[0]!.message;
      if (bad.client === "ready") connection.receive(JSON.stringify(hello), 0);
      sent.length = 0;

      connection.receive(bad.send.replace("TOKEN", TOKEN), 0);

      const answers = sent.map((text) => decode(text));
      if (bad.error === null) expect(answers).toEqual([]);
      else
        expect(answers).toMatchObject([
          { kind: "failed", id: bad.error, message: expect.stringContaining(bad.names!) },
        ]);
      expect(closed).toEqual(bad.close === null ? [] : [bad.close]);
    },
  );

  it("GIVEN the client's messages of the golden conversation WHEN they are received THEN all are answered", () => {
    const { connection, sent, closed } = connect();
    for (const { from, message } of conversation()) {
      if (from === "client") connection.receive(JSON.stringify(message), 0);
    }
    const kinds = sent.map((text) => decode(text).kind);
    expect(kinds).toEqual(["initialize", "initialized", "subscribe", "update", "subscribe", "update"]);
    expect(closed).toEqual([]);
  });

  it("GIVEN a subscription WHEN updates are due THEN its rate is kept, and a busy client gets none", () => {
    const { connection, sent } = connect();
    connection.receive(JSON.stringify(conversation()[0]!.message), 0);
    connection.receive(
      '{"seq":2,"type":"request","command":"flamelet/subscribe","arguments":{"rate":4}}',
      1000,
    );
    sent.length = 0;
    for (let now = 1000; now < 2000; now += 50) connection.push(now);
    expect(sent).toHaveLength(3);
    connection.push(9000, true);
    expect(sent).toHaveLength(3);
    connection.receive('{"seq":3,"type":"request","command":"flamelet/unsubscribe"}', 9000);
    connection.push(9999);
    expect(sent.map((text) => decode(text).kind)).toEqual(["update", "update", "update", "other"]);
  });

  it("GIVEN a server WHEN it is asked for processes THEN it lists them; an older one refuses, and goes on", () => {
    const process = { pid: 1, parent: 0, script: "a.py", python: "3.13.0", started: 5, url: "", self: true };
    const ask = (more: Partial<ConnectionOptions>): object => {
      const { connection, sent, closed } = connect(new Core(), more);
      connection.receive(JSON.stringify(conversation()[0]!.message), 0);
      connection.receive('{"seq":2,"type":"request","command":"flamelet/processes"}', 0);
      expect(closed).toEqual([]);
      return decode(sent.at(-1)!);
    };
    expect(ask({ processes: () => [process] })).toMatchObject({ kind: "processes", processes: [process] });
    expect(ask({})).toMatchObject({ kind: "failed", id: 1004, command: "flamelet/processes" });
  });

  it("GIVEN a subscription WHEN it does not name the timeline THEN updates have none; WHEN it does THEN its slices", () => {
    const core = new Core();
    const thread = core.attachThread(0, 1, "MainThread");
    core.switchTo(3e6, thread, core.createTask(0, thread));
    const { connection, sent } = connect(core);
    connection.receive(JSON.stringify(conversation()[0]!.message), 0);
    const subscribed = (args: string): object => {
      sent.length = 0;
      connection.receive(
        `{"seq":2,"type":"request","command":"flamelet/subscribe","arguments":${args}}`,
        1000,
      );
      return (JSON.parse(sent[1]!) as { body: object }).body;
    };
    expect(subscribed("{}")).not.toHaveProperty("timeline");
    const all = subscribed('{"what":["threads","tasks","tree","slices","timeline"]}');
    expect(all).toHaveProperty("timeline.add.begin");
    expect(subscribed('{"what":["threads"]}')).not.toHaveProperty("timeline");
  });
});
