import type { Update } from "@flamelet/protocol";
import { goldenUpdates } from "@flamelet/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  Client,
  type ClientOptions,
  type ClientState,
  type Socket,
  type StateDetail,
  socketUrl,
} from "../src/index.ts";

const SESSION = {
  protocol: 1,
  version: "0.1.0",
  pid: 1,
  program: "a.py",
  python: "3.12.1",
  epoch: 0,
  threshold: 1e8,
};

const RUNNING = goldenUpdates()[0]!.status;

/** A websocket whose other end the test plays. */
class FakeSocket implements Socket {
  onopen: Socket["onopen"] = null;
  onmessage: Socket["onmessage"] = null;
  onclose: Socket["onclose"] = null;
  onerror: Socket["onerror"] = null;
  readonly sent: { seq: number; command: string; arguments?: Record<string, unknown> }[] = [];
  closed: number | undefined;
  private seq = 0;

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(code?: number): void {
    this.closed = code ?? 1005;
  }

  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify({ seq: ++this.seq, ...message }) });
  }

  welcome(): void {
    this.onopen?.();
    const body = { flamelet: SESSION };
    this.say({ type: "response", request_seq: 1, success: true, command: "initialize", body });
    this.say({ type: "event", event: "initialized" });
  }

  subscribed(subscription: number): void {
    const { seq: request_seq, command } = this.sent.findLast((m) => m.command === "flamelet/subscribe")!;
    this.say({ type: "response", request_seq, success: true, command, body: { subscription } });
  }

  update(update: Partial<Update>): void {
    const body = { ...goldenUpdates()[4]!, status: RUNNING, ...update };
    this.say({ type: "event", event: "flamelet/update", body });
  }
}

describe("Client", () => {
  const sockets: FakeSocket[] = [];
  const states: [ClientState, StateDetail][] = [];
  const versions: number[] = [];
  const socket = (): FakeSocket => sockets.at(-1)!;
  const lastState = (): ClientState => states.at(-1)![0];

  beforeEach(() => {
    vi.useFakeTimers();
    sockets.length = states.length = versions.length = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  function client(options: Partial<ClientOptions> = {}): Client {
    const made = new Client({
      url: "ws://127.0.0.1:1/ws",
      token: "secret",
      socket: (url, subprotocol) => {
        expect([url, subprotocol]).toEqual(["ws://127.0.0.1:1/ws", "flamelet"]);
        sockets.push(new FakeSocket());
        return socket();
      },
      onState: (state, detail) => states.push([state, detail]),
      onUpdate: (update) => versions.push(update.version),
      ...options,
    });
    made.start();
    return made;
  }

  /** A client that has had its first picture. */
  function live(options: Partial<ClientOptions> = {}): Client {
    const made = client(options);
    socket().welcome();
    socket().subscribed(1);
    socket().update({ subscription: 1, version: 1, since: 0 });
    return made;
  }

  it("GIVEN a server WHEN the client starts THEN it says who it is, subscribes, and is live with the first picture", () => {
    const made = client({ subscribe: { rate: 10 } });
    expect(lastState()).toBe("connecting");
    socket().welcome();
    expect(made.session).toEqual(SESSION);
    expect(socket().sent).toMatchObject([
      {
        seq: 1,
        command: "initialize",
        arguments: { adapterID: "flamelet", token: "secret", protocol: { min: 1, max: 1 } },
      },
      { seq: 2, command: "flamelet/subscribe", arguments: { rate: 10 } },
    ]);
    socket().subscribed(1);
    expect(made.state).toBe("connecting");
    socket().update({ subscription: 1, version: 7, since: 0 });
    socket().update({ subscription: 1, version: 9, since: 7 });
    expect(versions).toEqual([7, 9]);
    expect(states.map(([state]) => state)).toEqual(["connecting", "live"]);
  });

  it("GIVEN a gap WHEN an update does not build on the last THEN it subscribes again and passes no other", () => {
    live();
    vi.advanceTimersByTime(5000);
    socket().update({ subscription: 1, version: 4, since: 3 });
    vi.advanceTimersByTime(0);
    expect(socket().sent.filter((m) => m.command === "flamelet/subscribe")).toHaveLength(2);
    socket().update({ subscription: 1, version: 5, since: 1 });
    socket().subscribed(2);
    socket().update({ subscription: 2, version: 6, since: 0 });
    expect(versions).toEqual([1, 6]);
  });

  it("GIVEN a server that sends a whole picture by itself WHEN it comes THEN it is passed on", () => {
    live();
    socket().update({ subscription: 1, version: 9, since: 0 });
    expect(versions).toEqual([1, 9]);
  });

  it("GIVEN a receiver that throws WHEN updates come THEN it subscribes again, not more than once a second", () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    client({
      onUpdate: () => {
        throw new Error("does not fit");
      },
    });
    socket().welcome();
    for (let i = 0; i < 30; i++) {
      socket().subscribed(i + 1);
      socket().update({ subscription: i + 1, version: 1, since: 0 });
      vi.advanceTimersByTime(100);
    }
    expect(socket().sent.filter((m) => m.command === "flamelet/subscribe").length).toBeLessThanOrEqual(4);
    expect(errors).toHaveBeenCalled();
    expect(lastState()).toBe("connecting");
  });

  it("GIVEN a new subscription WHEN late updates of the old one come THEN they are passed over", () => {
    const made = live();
    made.subscribe({ tree: { of: "group", group: 3 } });
    expect(socket().sent.at(-1)).toMatchObject({
      command: "flamelet/subscribe",
      arguments: { tree: { group: 3 } },
    });
    socket().update({ subscription: 1, version: 2, since: 1 });
    socket().subscribed(2);
    socket().update({ subscription: 1, version: 3, since: 2 });
    socket().update({ subscription: 2, version: 4, since: 0 });
    expect(versions).toEqual([1, 4]);
  });

  it("GIVEN a lost connection WHEN it is tried again THEN pauses grow to 8 s and start small after success", () => {
    const now = vi.spyOn(Date, "now").mockReturnValue(0);
    const made = live();
    const pauses: number[] = [];
    for (let i = 0; i < 8; i++) {
      socket().onclose?.({ code: 1006, reason: "" });
      expect(lastState()).toBe("lost");
      const pause = states.at(-1)![1].retryAt!;
      pauses.push(pause);
      const before = sockets.length;
      vi.advanceTimersByTime(pause - 1);
      expect(sockets.length).toBe(before);
      vi.advanceTimersByTime(1);
      expect(sockets.length).toBe(before + 1);
    }
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000, 8000]);
    socket().welcome();
    expect(made.state).toBe("lost");
    socket().subscribed(1);
    socket().update({ subscription: 1, version: 2, since: 0 });
    expect(lastState()).toBe("live");
    socket().onclose?.({ code: 1006, reason: "" });
    expect(states.at(-1)).toEqual([
      "lost",
      { reason: "the connection broke, or nobody listens", retryAt: 250 },
    ]);
    now.mockRestore();
  });

  it("GIVEN a lost connection WHEN the user asks THEN it is tried at once, and only once", () => {
    const made = live();
    socket().onclose?.({ code: 1001, reason: "" });
    made.retry();
    made.retry();
    expect(sockets).toHaveLength(2);
    vi.advanceTimersByTime(10_000);
    expect(sockets).toHaveLength(2);
  });

  it("GIVEN a server that falls silent WHEN 15 s have passed THEN the connection is lost", () => {
    live();
    vi.advanceTimersByTime(14_999);
    expect(lastState()).toBe("live");
    vi.advanceTimersByTime(1);
    expect(states.at(-1)).toMatchObject(["lost", { reason: "nothing was heard for 15 s" }]);
    expect(sockets[0]!.closed).toBe(1000);
  });

  it("GIVEN a program that no longer profiles WHEN nothing is heard of it THEN the connection stays", () => {
    live();
    const stopped = { ...RUNNING, state: "stopped" as const };
    socket().update({ subscription: 1, version: 2, since: 1, status: stopped });
    vi.advanceTimersByTime(60_000);
    expect(lastState()).toBe("live");
  });

  it("GIVEN a program that ends WHEN it is told THEN the last update stays and nothing is tried again", () => {
    const made = live();
    socket().update({ subscription: 1, version: 2, since: 1 });
    socket().say({ type: "event", event: "terminated" });
    const old = sockets[0]!;
    old.onclose?.({ code: 1000, reason: "" });
    vi.advanceTimersByTime(60_000);
    expect([made.state, sockets.length]).toEqual(["ended", 1]);
    expect(versions).toEqual([1, 2]);
  });

  it.each([
    [1001, "the token is wrong", undefined],
    [1002, "no version in common", { min: 2, max: 3 }],
  ])(
    "GIVEN a server that refuses with %i WHEN it answers THEN the client is refused and stays away",
    (id, format, protocol) => {
      client();
      socket().onopen?.();
      const body = { error: { id, format, showUser: true }, ...(protocol && { protocol }) };
      const answer = {
        type: "response",
        request_seq: 1,
        success: false,
        command: "initialize",
        message: "no",
        body,
      };
      socket().say(answer);
      expect(states.at(-1)).toEqual([
        "refused",
        { refusal: { id, message: format, ...(protocol && { protocol }) } },
      ]);
      vi.advanceTimersByTime(60_000);
      expect(sockets).toHaveLength(1);
    },
  );

  it("GIVEN a server that is full WHEN it turns the client away THEN that is said, and it is tried again", () => {
    client();
    socket().onclose?.({ code: 1013, reason: "" });
    expect(states.at(-1)).toMatchObject(["lost", { reason: "the server has as many clients as it takes" }]);
    vi.advanceTimersByTime(250);
    expect(sockets).toHaveLength(2);
  });

  it("GIVEN messages that are none WHEN they come THEN the connection is lost with the reason", () => {
    live();
    socket().onmessage?.({ data: "{" });
    expect(states.at(-1)).toMatchObject([
      "lost",
      { reason: expect.stringContaining("not understood: not JSON") },
    ]);
    live();
    socket().onmessage?.({ data: new ArrayBuffer(1) });
    expect(states.at(-1)).toMatchObject(["lost", { reason: expect.stringContaining("binary") }]);
    live();
    const old = socket();
    old.update({ subscription: 1, version: 2, since: 1, now: -1 });
    expect(states.at(-1)).toMatchObject(["lost", { reason: expect.stringContaining("body.now") }]);
    old.update({ subscription: 1, version: 3, since: 1 });
    expect(lastState()).toBe("lost");
  });

  describe("and other processes", () => {
    const PROCESS = {
      ...{ pid: 1, parent: 0, script: "a.py", python: "3.12.1", started: 5 },
      ...{ url: "http://127.0.0.1:1/#t=00", self: true },
    };
    const asked = (): number[] =>
      socket()
        .sent.filter(({ command }) => command === "flamelet/processes")
        .map(({ seq }) => seq);
    const answer = (processes: object[] = [PROCESS]): void => {
      const about = { request_seq: asked().at(-1), command: "flamelet/processes" };
      socket().say({ type: "response", success: true, ...about, body: { processes } });
    };
    const refuse = (id: number): void => {
      const about = { request_seq: asked().at(-1), command: "flamelet/processes", message: "no" };
      const body = { error: { id, format: "command: unknown: flamelet/processes", showUser: true } };
      socket().say({ type: "response", success: false, ...about, body });
    };

    it("GIVEN a server WHEN the client is connected THEN it asks by itself, without arguments, and passes the answer on", () => {
      const lists: unknown[] = [];
      const made = live({ onProcesses: (list) => lists.push(list) });
      expect(asked()).toHaveLength(1);
      expect(socket().sent.at(-1)).toEqual({
        seq: asked()[0],
        type: "request",
        command: "flamelet/processes",
      });
      answer();
      made.askProcesses();
      answer([]);
      expect(lists).toEqual([[PROCESS], []]);
      expect(asked()).toHaveLength(2);
    });

    it("GIVEN a question that is not answered WHEN more are asked THEN they are not sent, until the connection is new", () => {
      const made = live({ onProcesses: () => {} });
      for (let i = 0; i < 9; i++) made.askProcesses();
      expect(asked()).toHaveLength(1);
      socket().onclose?.({ code: 1006, reason: "" });
      made.askProcesses();
      vi.advanceTimersByTime(250);
      socket().welcome();
      expect(asked()).toHaveLength(1);
    });

    it("GIVEN an older server WHEN it refuses THEN that is no error, and it is not asked again in this connection", () => {
      const errors = vi.spyOn(console, "error").mockImplementation(() => {});
      const lists: unknown[] = [];
      const made = live({ onProcesses: (list) => lists.push(list) });
      refuse(1004);
      made.askProcesses();
      expect([asked().length, lists, made.state]).toEqual([1, [null], "live"]);
      expect(errors).not.toHaveBeenCalled();
      socket().onclose?.({ code: 1006, reason: "" });
      vi.advanceTimersByTime(250);
      socket().welcome();
      expect(asked()).toHaveLength(1);
    });

    it("GIVEN a server that fails otherwise WHEN it is asked again THEN what was known stays, and it may answer", () => {
      const lists: unknown[] = [];
      const made = live({ onProcesses: (list) => lists.push(list) });
      refuse(1005);
      expect(lists).toEqual([]);
      made.askProcesses();
      answer();
      expect(lists).toEqual([[PROCESS]]);
    });

    it("GIVEN a program that no longer profiles WHEN it answers THEN its silence afterwards is no loss", () => {
      live({ onProcesses: () => {} });
      const stopped = { ...RUNNING, state: "stopped" as const };
      socket().update({ subscription: 1, version: 2, since: 1, status: stopped });
      answer();
      vi.advanceTimersByTime(60_000);
      expect(lastState()).toBe("live");
      // It profiles again: from now on its silence counts.
      socket().update({ subscription: 1, version: 3, since: 2 });
      vi.advanceTimersByTime(15_000);
      expect(lastState()).toBe("lost");
    });
  });

  it("GIVEN a failed subscription WHEN the client is live THEN it goes on with what it has", () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const made = live();
    const body = { error: { id: 1005, format: "rate: expected a number from 0.1 to 20", showUser: true } };
    socket().say({ type: "response", request_seq: 9, success: false, command: "flamelet/subscribe", body });
    expect(made.state).toBe("live");
    expect(errors.mock.calls[0]![0]).toContain("rate: expected");
  });

  it("GIVEN a socket that cannot be made WHEN the client starts THEN it is lost with the reason and tried again", () => {
    let tries = 0;
    client({
      socket: () => {
        tries++;
        throw new Error("bad address");
      },
    });
    expect(states.at(-1)).toMatchObject(["lost", { reason: "bad address" }]);
    vi.advanceTimersByTime(250);
    expect(tries).toBe(2);
  });

  it("WHEN the client is stopped THEN it says goodbye, and start begins anew", () => {
    const made = live();
    const old = socket();
    made.stop();
    expect(old.sent.at(-1)!.command).toBe("disconnect");
    expect(old.closed).toBe(1000);
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
    made.start();
    expect([sockets.length, lastState()]).toEqual([2, "connecting"]);
  });
});

describe("socketUrl", () => {
  it.each([
    ["http://127.0.0.1:8731/#t=abc", "ws://127.0.0.1:8731/ws"],
    ["http://localhost:9/index.html?x=1", "ws://localhost:9/ws"],
    ["https://host/proxy/8731/", "wss://host/proxy/8731/ws"],
  ])("WHEN the page is %s THEN the websocket is %s", (page, ws) => {
    expect(socketUrl(page)).toBe(ws);
  });
});
