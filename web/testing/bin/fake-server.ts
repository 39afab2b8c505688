/**
 * Serves app/dist and a made-up program over the protocol, so that the page can be worked on without the real server:
 *
 *   npm run fake-server -- [--port 8731] [--token HEX] [--age 90] [--culprit sqlite|sort|none] [--seed 1]
 *                          [--connections 210] [--end SECONDS] [--program shop.py] [--processes FILE]
 *
 * --age is how long the program has run already, in s; after --end seconds it ends. Without these it goes on.
 * --processes is a JSON list of what `flamelet/processes` answers, read anew each time; the entry with this server's port is
 * `self`, beside one that says so. Without it the server is one that does not know the request.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { ServedProcess } from "@flamelet/protocol";
import { WebSocketServer } from "ws";
import { Connection } from "../src/connection.ts";
import { Camera, type Picture, sessionOf } from "../src/picture.ts";
import { type Culprit, Shop } from "../src/shop.ts";

function fail(message: string): never {
  console.error(`fake-server: ${message}`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        port: { type: "string", default: "8731" },
        token: { type: "string", default: "0123456789abcdef".repeat(4) },
        age: { type: "string", default: "90" },
        culprit: { type: "string", default: "sqlite" },
        seed: { type: "string", default: "1" },
        connections: { type: "string", default: "210" },
        end: { type: "string", default: "0" },
        program: { type: "string", default: "shop.py" },
        processes: { type: "string", default: "" },
      },
    }).values;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const values = readOptions();

function whole(name: "port" | "age" | "seed" | "connections" | "end"): number {
  const value = Number(values[name]);
  if (!Number.isInteger(value) || value < 0 || (name === "port" && value > 65535)) {
    fail(`--${name} must be a whole number${name === "port" ? " up to 65535" : ""}, not ${values[name]}`);
  }
  return value;
}
if (!["sqlite", "sort", "none"].includes(values.culprit)) {
  fail(`--culprit must be sqlite, sort or none, not ${values.culprit}`);
}

const SAMPLE_MS = 250;
const age = whole("age") * 1000;
const start = Date.now() - age;
const shop = new Shop({
  seed: whole("seed"),
  culprit: values.culprit as Culprit,
  connections: whole("connections"),
});
const camera = new Camera(shop.core, SAMPLE_MS * 1e6);
let sampled = 0;
let picture: Picture | null = null;

/** ms since the session's start. */
function clock(): number {
  return Date.now() - start;
}

function advance(): void {
  const now = clock();
  while (sampled + SAMPLE_MS <= now) {
    sampled += SAMPLE_MS;
    shop.runTo(sampled * 1e6);
    camera.sample(sampled * 1e6);
  }
  shop.runTo(now * 1e6);
  picture = camera.take(now * 1e6);
}

const dist = fileURLToPath(new URL("../../app/dist/", import.meta.url));
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Host and Origin as protocol.md asks: names of this machine with any port, and the same authority in both. */
function allowed(request: IncomingMessage): boolean {
  const { host, origin } = request.headers;
  if (host === undefined || !/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host)) return false;
  return origin === undefined || origin.replace(/^https?:\/\//, "") === host;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader(
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
  );
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Referrer-Policy", "no-referrer");
  response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
  if (!allowed(request)) response.writeHead(403).end("wrong Host or Origin\n");
  else if (request.method !== "GET") response.writeHead(405).end("only GET\n");
  else {
    const path = normalize(new URL(request.url ?? "/", "http://localhost").pathname);
    const file = join(dist, path.endsWith("/") ? `${path}index.html` : path);
    const body = await readFile(file).catch(() => null);
    if (body === null || !file.startsWith(dist)) {
      response.writeHead(404).end(path === "/" ? "app/dist is not built: npm run build\n" : "not found\n");
    } else
      response
        .writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" })
        .end(body);
  }
}

const http = createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    console.error(error);
    response.destroy();
  });
});
let port = 0;
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: 64 * 1024,
  handleProtocols: (offered) => (offered.has("flamelet") ? "flamelet" : false),
});
const clients = new Set<{ connection: Connection; buffered: () => number }>();

http.on("upgrade", (request, socket, head) => {
  const path = new URL(request.url ?? "/", "http://localhost").pathname;
  if (!allowed(request) || path !== "/ws") {
    socket.end(`HTTP/1.1 ${path === "/ws" ? "403 Forbidden" : "404 Not Found"}\r\nConnection: close\r\n\r\n`);
    return;
  }
  sockets.handleUpgrade(request, socket, head, (websocket) => {
    if (clients.size >= 16) {
      websocket.close(1013);
      return;
    }
    const connection = new Connection(
      { send: (text) => websocket.send(text), close: (code) => websocket.close(code) },
      {
        token: values.token,
        session: () => sessionOf(shop.core, values.program, start),
        picture: newest,
        ...(values.processes !== "" && { processes }),
      },
    );
    const client = { connection, buffered: () => websocket.bufferedAmount };
    clients.add(client);
    const late = setTimeout(() => {
      if (!connection.ready) websocket.close(1008);
    }, 5000);
    websocket.on("message", (data, binary) => {
      const text = data.toString();
      if (binary) websocket.close(1003);
      else if (!connection.ready && text.length > 4096) websocket.close(1009);
      else connection.receive(text, Date.now());
    });
    websocket.on("error", () => websocket.terminate());
    websocket.on("close", () => {
      clearTimeout(late);
      clients.delete(client);
    });
  });
});

function processes(): ServedProcess[] {
  const all = JSON.parse(readFileSync(values.processes, "utf8")) as ServedProcess[];
  return all.map((process) => ({ ...process, self: process.self || process.url.includes(`:${port}/`) }));
}

function newest(): Picture {
  if (picture === null || picture.now < clock() * 1e6) advance();
  return picture!;
}

const ticker = setInterval(() => {
  const end = whole("end") * 1000;
  const now = Date.now();
  if (end > 0 && clock() >= age + end) {
    clearInterval(ticker);
    shop.core.state = "ended";
    for (const { connection } of clients) connection.end(now);
    // An ended program's server is gone too: the page must live with it.
    setTimeout(() => process.exit(0), 500);
    return;
  }
  if (clock() - sampled >= SAMPLE_MS) advance();
  for (const { connection, buffered } of clients) connection.push(now, buffered() > 1 << 20);
}, 50);

advance();
http.on("error", (error) => fail(error.message));
http.listen(whole("port"), "127.0.0.1", () => {
  const address = http.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
  console.log(`http://127.0.0.1:${port}/#t=${values.token}   (page from ${dirname(join(dist, "x"))})`);
});
