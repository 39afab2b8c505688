/** Client and server of the protocol joined in memory, over a made-up program. */
import { Store } from "@flamelet/model";
import { Camera, Connection, Shop, sessionOf } from "@flamelet/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Client, type ClientState, type Socket } from "../src/index.ts";

const TOKEN = "ab".repeat(32);

describe("a client of a server", () => {
  const shop = new Shop();
  const camera = new Camera(shop.core);
  let now = 1000;
  let connection: Connection | null = null;
  let current: Socket | null = null;

  /** Messages arrive one after the other, as they do over a wire. */
  function connect(): Socket {
    const socket: Socket = {
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send: (text) => queueMicrotask(() => own.receive(text, now)),
      close: () => {},
    };
    const own = new Connection(
      {
        send: (data) => queueMicrotask(() => socket.onmessage?.({ data })),
        close: (code) => queueMicrotask(() => socket.onclose?.({ code, reason: "" })),
      },
      {
        token: TOKEN,
        session: () => sessionOf(shop.core, "shop.py", 0),
        picture: () => {
          shop.runTo(now * 1e6);
          return camera.take(now * 1e6);
        },
      },
    );
    connection = own;
    current = socket;
    queueMicrotask(() => socket.onopen?.());
    return socket;
  }

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("GIVEN connections that break and end WHEN the client comes back THEN the store is that of the program", async () => {
    const store = new Store();
    const states: ClientState[] = [];
    const client = new Client({
      url: "ws://x/ws",
      token: TOKEN,
      socket: connect,
      onState: (state) => states.push(state),
      onUpdate: (update) => store.apply(update),
    });
    client.start();
    for (let i = 0; i < 60; i++) {
      await vi.advanceTimersByTimeAsync(100);
      now += 100;
      connection?.push(now);
      if (i === 15) current?.onclose?.({ code: 1006, reason: "" });
      if (i === 30) connection?.end(now); // says terminated: the client must not come back by itself
      if (i === 31) client.start(); // but the user can ask
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(states).toEqual(["connecting", "live", "lost", "live", "ended", "connecting", "live"]);
    expect(store.tasks.size).toBe(shop.core.tasks.size);
    expect(store.nodes.count).toBe(shop.core.nodes.length);
    expect(store.threads.cpu[0]).toBeGreaterThan(0);
    expect(client.session?.program).toBe("shop.py");
    client.stop();
  });

  it("GIVEN a wrong token WHEN the client starts THEN it is refused", async () => {
    const client = new Client({ url: "ws://x/ws", token: "wrong", socket: connect });
    client.start();
    await vi.advanceTimersByTimeAsync(100);
    expect(client.state).toBe("refused");
  });
});
