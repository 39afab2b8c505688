/** A made-up shop under load: a WSGI server on one hub, its load generator on another, a log writer on a plain thread. */
import { Core } from "./core.ts";
import { block, cpu, Loop, type Program, type Step, wait } from "./simulator.ts";

const ms = 1e6;
const s = 1e9;

const SITE = "/srv/shop/.venv/lib/python3.12/site-packages";
const LIB = "/usr/lib/python3.12";
const APP = "/srv/shop/shop";

/** name: [qualified name, file, line] */
const FUNCTIONS = {
  module: ["<module>", `${APP}/__main__.py`, 1],
  main: ["main", `${APP}/__main__.py`, 41],
  serve_forever: ["BaseServer.serve_forever", `${SITE}/gevent/baseserver.py`, 389],
  event_wait: ["Event.wait", `${SITE}/gevent/event.py`, 165],
  hub_run: ["Hub.run", `${SITE}/gevent/hub.py`, 641],
  callbacks: ["loop._run_callbacks", `${SITE}/gevent/_ffi/loop.py`, 475],
  do_accept: ["BaseServer._do_read", `${SITE}/gevent/baseserver.py`, 248],
  accept: ["socket.accept", `${SITE}/gevent/_socket3.py`, 260],
  handle: ["WSGIHandler.handle", `${SITE}/gevent/pywsgi.py`, 512],
  handle_request: ["WSGIHandler.handle_one_request", `${SITE}/gevent/pywsgi.py`, 717],
  requestline: ["WSGIHandler.read_requestline", `${SITE}/gevent/pywsgi.py`, 672],
  readinto: ["SocketIO.readinto", `${LIB}/socket.py`, 694],
  recv_into: ["socket.recv_into", `${SITE}/gevent/_socket3.py`, 420],
  recv: ["socket.recv", `${SITE}/gevent/_socket3.py`, 390],
  sendall: ["socket.sendall", `${SITE}/gevent/_socket3.py`, 460],
  read_headers: ["WSGIHandler.read_request", `${SITE}/gevent/pywsgi.py`, 560],
  handle_response: ["WSGIHandler.handle_one_response", `${SITE}/gevent/pywsgi.py`, 1074],
  run_app: ["WSGIHandler.run_application", `${SITE}/gevent/pywsgi.py`, 1022],
  write: ["WSGIHandler.write", `${SITE}/gevent/pywsgi.py`, 851],
  log_request: ["WSGIHandler.log_request", `${SITE}/gevent/pywsgi.py`, 958],
  wsgi_app: ["Flask.wsgi_app", `${SITE}/flask/app.py`, 1478],
  push: ["RequestContext.push", `${SITE}/flask/ctx.py`, 366],
  match: ["MapAdapter.match", `${SITE}/werkzeug/routing/map.py`, 555],
  dispatch: ["Flask.full_dispatch_request", `${SITE}/flask/app.py`, 902],
  process_response: ["Flask.process_response", `${SITE}/flask/app.py`, 1301],
  home: ["home", `${APP}/views.py`, 18],
  product: ["product", `${APP}/views.py`, 41],
  search: ["search", `${APP}/views.py`, 63],
  cart: ["cart", `${APP}/views.py`, 97],
  checkout: ["checkout", `${APP}/views.py`, 120],
  report: ["report", `${APP}/views.py`, 148],
  build_rows: ["build_rows", `${APP}/report.py`, 22],
  by_day: ["group_by_day", `${APP}/report.py`, 47],
  to_csv: ["to_csv", `${APP}/report.py`, 71],
  sqlite: ["sqlite3.Cursor.execute", `${LIB}/sqlite3`, 0],
  sort: ["sorted", "", 0],
  catalog_get: ["Catalog.get", `${APP}/catalog.py`, 27],
  index_query: ["Index.query", `${APP}/search.py`, 88],
  rank: ["Index.rank", `${APP}/search.py`, 131],
  cart_load: ["Cart.load", `${APP}/cart.py`, 30],
  place: ["Order.place", `${APP}/orders.py`, 52],
  charge: ["charge", `${APP}/payments.py`, 20],
  session_execute: ["Session.execute", `${SITE}/sqlalchemy/orm/session.py`, 2246],
  compile: ["SQLCompiler.process", `${SITE}/sqlalchemy/sql/compiler.py`, 864],
  visit_select: ["SQLCompiler.visit_select", `${SITE}/sqlalchemy/sql/compiler.py`, 4701],
  pool_acquire: ["Pool.acquire", `${APP}/pool.py`, 33],
  semaphore: ["BoundedSemaphore.acquire", `${SITE}/gevent/lock.py`, 210],
  pg_execute: ["Connection.execute", `${SITE}/pg8000/core.py`, 741],
  pg_messages: ["Connection.handle_messages", `${SITE}/pg8000/core.py`, 780],
  redis_get: ["Redis.get", `${SITE}/redis/client.py`, 1210],
  redis_parse: ["Connection.read_response", `${SITE}/redis/connection.py`, 501],
  requests_post: ["Session.post", `${SITE}/requests/sessions.py`, 626],
  requests_send: ["HTTPAdapter.send", `${SITE}/requests/adapters.py`, 613],
  render: ["Template.render", `${SITE}/jinja2/environment.py`, 1299],
  root: ["root", `${APP}/templates/product.html`, 5],
  body: ["block_body", `${APP}/templates/product.html`, 39],
  escape: ["escape", `${SITE}/markupsafe/__init__.py`, 40],
  dumps: ["dumps", `${LIB}/json/__init__.py`, 183],
  loads: ["loads", `${LIB}/json/__init__.py`, 299],
  iterencode: ["JSONEncoder.iterencode", `${LIB}/json/encoder.py`, 205],
  log_info: ["Logger.info", `${LIB}/logging/__init__.py`, 1518],
  emit: ["StreamHandler.emit", `${LIB}/logging/__init__.py`, 1136],
  worker: ["order_worker", `${APP}/orders.py`, 101],
  queue_get: ["Queue.get", `${SITE}/gevent/queue.py`, 330],
  send_mail: ["send_mail", `${APP}/mail.py`, 14],
  smtp: ["SMTP.sendmail", `${LIB}/smtplib.py`, 788],
  getaddrinfo: ["getaddrinfo", `${SITE}/gevent/_socketcommon.py`, 218],
  refresh: ["refresh_prices", `${APP}/prices.py`, 12],
  load_prices: ["load_prices", `${APP}/prices.py`, 30],
  reaper: ["reap_sessions", `${APP}/sessions.py`, 9],
  metrics: ["flush_metrics", `${APP}/metrics.py`, 22],
  encode: ["encode_metrics", `${APP}/metrics.py`, 40],
  sleep: ["sleep", `${SITE}/gevent/hub.py`, 120],
  walk: ["walk", `${APP}/catalog.py`, 70],
  load_main: ["run_load", `${APP}/load.py`, 88],
  client: ["client", `${APP}/load.py`, 31],
  pause: ["think", `${APP}/load.py`, 24],
  requests_get: ["Session.get", `${SITE}/requests/sessions.py`, 599],
  parse_headers: ["parse_headers", `${LIB}/http/client.py`, 216],
  log_thread: ["LogWriter.run", `${APP}/logs.py`, 15],
  queue_plain: ["Queue.get", `${LIB}/queue.py`, 154],
  flush: ["LogWriter.flush", `${APP}/logs.py`, 40],
} as const satisfies Record<string, readonly [string, string, number]>;

type Name = keyof typeof FUNCTIONS;
export type Culprit = "sqlite" | "sort" | "none";

/** A small generator of numbers: the same seed gives the same shop. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const forEver = (): Step[] => [wait(1e15, "Event.wait")];

export interface ShopOptions {
  seed?: number;
  /** What the route /report does to its hub: a C call, a big sort, or nothing. */
  culprit?: Culprit;
  connections?: number;
}

export class Shop {
  readonly core = new Core({ cost: { call: 350, switch: 900 } });
  private readonly loops: Loop[];
  private readonly random: () => number;
  private readonly ids: Record<Name, number>;
  private readonly culprit: Culprit;
  private reports = 0;
  private rounds = 0;

  constructor(options: ShopOptions = {}) {
    this.random = randomFrom(options.seed ?? 1);
    this.culprit = options.culprit ?? "sqlite";
    const entries = Object.entries(FUNCTIONS) as [Name, readonly [string, string, number]][];
    this.ids = Object.fromEntries(
      entries.map(([key, [qualname, file, line]]) => {
        const name = qualname.slice(qualname.lastIndexOf(".") + 1);
        return [key, this.core.addFunction(name, qualname, file, line, line === 0 ? 1 : 0)];
      }),
    ) as Record<Name, number>;
    const { hub_run: run, callbacks: callback } = this.ids;
    const server = new Loop(this.core, 0, 41207, "MainThread", { run, callback });
    const load = new Loop(this.core, 20 * ms, 41219, "loadgen", { run, callback });
    const logs = new Loop(this.core, 25 * ms, 41220, "log-writer", null);
    this.loops = [server, load, logs];
    this.startServer(server, options.connections ?? 210);
    this.startLoad(load);
    logs.runMain(this.forever(() => this.logWriter(), "log_thread"));
  }

  /** Brings the shop forward to an instant of the session. */
  runTo(now: number): void {
    for (const loop of this.loops) loop.runTo(now);
  }

  private startServer(loop: Loop, connections: number): void {
    // Profiling was started when the server ran already.
    loop.runMain(this.seeded(["module", "main", "serve_forever"], this.in("event_wait", 3_000, forEver())));
    loop.spawn(
      this.forever(() => this.acceptor(loop), "do_accept"),
      { name: "shop.accept" },
    );
    for (let i = 0; i < connections; i++) this.connect(loop, this.between(5 * ms, 4 * s));
    for (let i = 1; i <= 32; i++) {
      loop.spawn(
        this.forever(() => this.orderWorker(), "worker"),
        {
          name: `order-${i}`,
          delay: this.between(10 * ms, 900 * ms),
        },
      );
    }
    loop.spawn(
      this.forever(() => this.refreshPrices(), "refresh"),
      { name: "prices", delay: 400 * ms },
    );
    loop.spawn(
      this.forever(() => this.reapSessions(), "reaper"),
      { name: "sessions", delay: 700 * ms },
    );
    loop.spawn(
      this.forever(() => this.flushMetrics(), "metrics"),
      { name: "metrics", delay: 300 * ms },
    );
  }

  private startLoad(loop: Loop): void {
    loop.runMain(this.nest(["module", "load_main", "event_wait"], [wait(1e15, "Event.wait")]));
    for (let i = 1; i <= 48; i++) {
      loop.spawn(
        this.forever(() => this.client(), "client"),
        { name: `client-${i}`, delay: this.between(0, s), ...(i % 4 === 0 && { label: "mobile" }) },
      );
    }
  }

  private connect(loop: Loop, delay: number): void {
    const ip = `10.0.${1 + Math.floor(this.random() * 7)}.${1 + Math.floor(this.random() * 250)}`;
    const port = 40000 + Math.floor(this.random() * 9000);
    const slow = this.random() < 0.55;
    loop.spawn(this.connection(slow), { name: `${ip}:${port}`, delay });
  }

  private between(low: number, high: number): number {
    return Math.round(low + (high - low) * this.random());
  }

  /** About `ns`, with the long tail that real times have. */
  private about(ns: number): number {
    return ns * (0.6 + 0.8 * this.random() ** 2 + (this.random() < 0.03 ? 2 * this.random() : 0));
  }

  private *nest(names: readonly Name[], body: Iterable<Step>): Program {
    for (const name of names) {
      yield { do: "enter", fn: this.ids[name] };
      yield cpu(this.about(3_000));
    }
    yield* body;
    for (const _ of names) yield { do: "leave" };
  }

  private *seeded(names: readonly Name[], body: Iterable<Step>): Program {
    for (const name of names) yield { do: "seed", fn: this.ids[name] };
    yield* body;
  }

  private *in(name: Name, own: number, body: Iterable<Step> = []): Program {
    yield { do: "enter", fn: this.ids[name] };
    yield cpu(this.about(own * 0.6));
    yield* body;
    yield cpu(this.about(own * 0.4));
    yield { do: "leave" };
  }

  private *forever(round: () => Iterable<Step>, entry: Name): Program {
    yield { do: "enter", fn: this.ids[entry] };
    for (;;) yield* round();
  }

  private *acceptor(loop: Loop): Program {
    yield* this.in("accept", 8_000, [wait(this.between(300 * ms, 1500 * ms), "socket.accept")]);
    yield cpu(30_000);
    this.connect(loop, 0);
  }

  private *connection(slow: boolean): Program {
    yield { do: "enter", fn: this.ids.handle };
    yield cpu(this.about(18_000));
    const requests = 2 + Math.floor(this.random() * 60);
    for (let i = 0; i < requests; i++) {
      const pause = slow ? this.between(2 * s, 60 * s) : this.between(200 * ms, 6 * s);
      yield* this.in("handle_request", 31_000, this.oneRequest(pause));
    }
    yield { do: "leave" };
  }

  private *oneRequest(pause: number): Program {
    const next = this.nest(["readinto", "recv_into"], [wait(pause, "socket.recv_into")]);
    yield* this.in("requestline", 6_000, next);
    yield* this.in("read_headers", 45_000);
    yield* this.in("handle_response", 31_000, this.response());
  }

  private *response(): Program {
    yield* this.in("run_app", 24_000, this.in("wsgi_app", 38_000, this.wsgi()));
    yield* this.in("write", 21_000, this.in("sendall", 12_000, [block(this.about(9_000))]));
    yield* this.in(
      "log_request",
      15_000,
      this.in("log_info", 42_000, this.in("emit", 28_000, [block(6_000)])),
    );
  }

  private *wsgi(): Program {
    yield* this.in("push", 46_000, this.in("match", 30_000));
    yield* this.in("dispatch", 27_000, this.route());
    yield* this.in("process_response", 19_000);
  }

  private route(): Program {
    const draw = this.random();
    if (this.reports++ % 47 === 46) return this.in("report", 400_000, this.reportBody());
    if (draw < 0.4) return this.in("product", 52_000, this.productBody());
    if (draw < 0.58) return this.in("search", 68_000, this.searchBody());
    if (draw < 0.76) return this.in("cart", 90_000, this.cartBody());
    if (draw < 0.86) return this.in("checkout", 120_000, this.checkoutBody());
    return this.in("home", 60_000, this.page(12));
  }

  private *query(): Program {
    yield* this.in("session_execute", 84_000, this.queryBody());
  }

  private *queryBody(): Program {
    yield* this.in("compile", 60_000, this.in("visit_select", 55_000));
    const contended = this.random() < 0.12 ? this.between(5 * ms, 3500 * ms) : this.between(20_000, 2 * ms);
    yield* this.in(
      "pool_acquire",
      9_000,
      this.in("semaphore", 4_000, [wait(contended, "BoundedSemaphore.acquire")]),
    );
    yield* this.in("pg_execute", 62_000, this.in("pg_messages", 74_000, this.receive(this.about(4.5 * ms))));
  }

  private *receive(ns: number): Program {
    yield* this.in("recv", 7_000, [wait(ns, "socket.recv")]);
  }

  private *page(rows: number): Program {
    yield* this.in("render", 190_000, this.in("root", 120_000, this.rows(rows)));
  }

  private *rows(count: number): Program {
    for (let i = 0; i < count; i++) yield* this.in("body", 22_000, this.in("escape", 9_000));
  }

  private *productBody(): Program {
    yield* this.in("catalog_get", 40_000, this.query());
    if (this.random() < 0.2) yield* this.categories(2 + Math.floor(this.random() * 9));
    yield* this.page(18);
  }

  /** Recursion, as a real program has it. */
  private *categories(levels: number): Program {
    yield* this.in("walk", 26_000, levels > 0 ? this.categories(levels - 1) : []);
  }

  private *searchBody(): Program {
    yield* this.in("index_query", 210_000, this.in("rank", 900_000));
    yield* this.query();
    yield* this.in("dumps", 80_000, this.in("iterencode", 160_000));
  }

  private *cartBody(): Program {
    const redis = this.in("redis_get", 40_000, this.in("redis_parse", 30_000, this.receive(this.about(ms))));
    yield* this.in("cart_load", 35_000, redis);
    yield* this.page(8);
  }

  private *checkoutBody(): Program {
    yield* this.in("place", 140_000, this.query());
    const answer = this.receive(this.between(90 * ms, 700 * ms));
    const post = this.in("requests_post", 130_000, this.in("requests_send", 90_000, answer));
    yield* this.in("charge", 45_000, post);
  }

  private *reportBody(): Program {
    yield* this.in("build_rows", 2.2 * ms, this.rowsOfReport());
    yield* this.in("to_csv", 5.5 * ms);
  }

  private *rowsOfReport(): Program {
    if (this.culprit === "sqlite") {
      yield* this.in("sqlite", 4 * ms, [block(this.between(135 * ms, 149 * ms))]);
    } else if (this.culprit === "sort") {
      yield* this.in("sort", this.between(150 * ms, 175 * ms));
    }
    yield* this.in("by_day", 16 * ms);
  }

  private *orderWorker(): Program {
    yield* this.in("queue_get", 8_000, [wait(this.between(s, 16 * s), "Queue.get")]);
    yield* this.in("send_mail", 300_000, this.in("smtp", 110_000, this.mail()));
  }

  private *mail(): Program {
    // A name server that does not answer at once: rare, and another one than the culprit.
    const lookup = this.random() < 0.007 ? this.between(102 * ms, 142 * ms) : this.between(0.2 * ms, 3 * ms);
    yield* this.in("getaddrinfo", 20_000, [block(lookup)]);
    yield* this.receive(this.between(20 * ms, 90 * ms));
  }

  private *refreshPrices(): Program {
    yield* this.in("load_prices", 700_000, this.in("loads", this.between(6 * ms, 17 * ms)));
    yield* this.in("sleep", 5_000, [wait(2 * s, "sleep")]);
  }

  private *reapSessions(): Program {
    yield cpu(this.about(350_000));
    yield* this.in("sleep", 5_000, [wait(5 * s, "sleep")]);
  }

  private *flushMetrics(): Program {
    yield* this.in("dumps", 400_000, this.in("iterencode", 500_000));
    yield* this.in("sendall", 40_000, [block(120_000)]);
    // Now and then the thread that writes the log holds the GIL.
    const holder = this.loops[2]!.thread;
    const ns = this.between(104 * ms, 128 * ms);
    if (this.rounds++ % 19 === 18) yield* this.in("encode", 60_000, [{ do: "gil", ns, holder }]);
    yield* this.in("sleep", 5_000, [wait(s, "sleep")]);
  }

  private *client(): Program {
    const answer = this.receive(this.between(5 * ms, 80 * ms));
    yield* this.in("requests_get", 400_000, this.in("requests_send", 300_000, answer));
    yield* this.in("parse_headers", 900_000);
    yield* this.in(
      "pause",
      9_000,
      this.in("sleep", 4_000, [wait(this.between(100 * ms, 1500 * ms), "sleep")]),
    );
  }

  private *logWriter(): Program {
    yield* this.in("queue_plain", 20_000, [block(this.between(20 * ms, 400 * ms))]);
    yield* this.in("flush", 150_000, [block(this.between(0.2 * ms, 4 * ms))]);
  }
}
