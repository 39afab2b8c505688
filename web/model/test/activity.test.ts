import { describe, expect, it } from "vitest";
import {
  describeFile,
  describeTask,
  idleFunctions,
  isIdlePlace,
  Modules,
  NARROW_SPACE,
  placeOf,
  type Store,
  waitSummary,
} from "../src/index.ts";
import { Program } from "./build.ts";

const G = "/srv/venv/lib/python3.12/site-packages/gevent";
const QUEUE_GET = `Queue.get@${G}/queue.py:30`;
const SWITCH = `Waiter.get@${G}/_waiter.py:9`;
const LINE = `WSGIHandler.read_requestline@${G}/pywsgi.py:70`;
const READINTO = "SocketIO.readinto@/usr/lib/python3.12/socket.py:690";
const RECV = `socket.recv_into@${G}/_socket3.py:420`;

const plain = (text: string): string => text.replaceAll(NARROW_SPACE, " ");
const describeIn = (store: Store, task: { id: number }, threshold?: number) =>
  describeTask(store, store.tasks.rowOf(task.id), threshold);

describe("what a task does now", () => {
  function parked(path: string[], wait?: string): ReturnType<typeof describeTask> {
    const program = new Program();
    const hub = program.hub();
    const task = program.create();
    program
      .to(task)
      .enter(...path)
      .cpu(1)
      .to(hub, wait)
      .off(3400);
    return describeIn(program.tell(), task);
  }

  it("GIVEN a worker on an empty queue WHEN it is described THEN the place is the queue, whatever it calls", () => {
    const activity = parked(["worker", QUEUE_GET, SWITCH], "switch");
    expect(activity).toMatchObject({
      activity: "waiting",
      for: 3400e6,
      place: "Queue.get",
      caller: "worker",
      idle: true,
    });
    expect(plain(activity.text)).toBe("waiting 3.40 s at Queue.get");
  });

  it("GIVEN a keep-alive connection WHEN it is described THEN it waits for work, not for work of others", () => {
    const activity = parked([`WSGIHandler.handle@${G}/pywsgi.py:5`, LINE, READINTO, RECV]);
    expect(activity).toMatchObject({
      place: "SocketIO.readinto",
      caller: "WSGIHandler.read_requestline",
      idle: true,
    });
  });

  it("GIVEN a wait in compiled code WHEN only its call is known THEN that is the place", () => {
    expect(parked(["pool_get"], "self.sem.acquire")).toMatchObject({
      place: "self.sem.acquire",
      caller: "pool_get",
      idle: false,
    });
    expect(parked(["worker"], "self.queue.get")).toMatchObject({ place: "self.queue.get", idle: true });
  });

  it("GIVEN a wait of which nothing is known WHEN it is described THEN the function is the place", () => {
    const activity = parked(["a", "b"]);
    expect(activity).toMatchObject({ place: "b", caller: "a", idle: false });
    expect(plain(activity.text)).toBe("waiting 3.40 s at b");
  });

  it("GIVEN a task that has called nothing WHEN it is described THEN it waits at no place", () => {
    const program = new Program();
    const task = program.create();
    program.cpu(5);
    expect(plain(describeIn(program.tell(), task).text)).toBe("waiting 5.00 ms");
  });

  it("GIVEN a current task WHEN its slice gets old THEN it blocks its hub", () => {
    const program = new Program();
    program.hub();
    const task = program.create();
    program.to(task).enter("work").cpu(80);
    const store = program.tell();
    expect(describeIn(store, task)).toMatchObject({ activity: "running", for: 80e6, place: "work" });
    expect(describeIn(store, task, 50e6)).toMatchObject({ activity: "blocking" });
    program.enter("sqlite3.Cursor.execute@:0").off(1120);
    program.tell(store);
    const activity = describeIn(store, task);
    expect(activity).toMatchObject({
      activity: "blocking",
      for: 1200e6,
      place: "sqlite3.Cursor.execute",
      caller: "work",
    });
    expect(plain(activity.text)).toBe("blocking its hub for 1.20 s");
  });

  it("GIVEN a hub WHEN it polls or works THEN that is told apart", () => {
    const program = new Program();
    const main = program.thread.task;
    const hub = program.hub();
    program.off(5000).cpu(1);
    const store = program.tell();
    expect(describeIn(store, hub)).toMatchObject({ activity: "polling", idle: true, for: 5001e6 });
    program.enter("callback").cpu(300);
    program.tell(store);
    const busy = describeIn(store, hub);
    expect(busy).toMatchObject({ activity: "blocking", idle: false, for: 301e6 });
    expect(plain(busy.text)).toBe("busy in its loop for 301 ms");
    program.leave().to(main).cpu(7);
    program.tell(store);
    expect(plain(describeIn(store, hub).text)).toBe("waiting 7.00 ms for its tasks");
  });

  it("GIVEN a thread without a hub WHEN it is described THEN it runs since its last call, and blocks nobody", () => {
    const program = new Program().enter("run").cpu(50).enter("read").off(4000);
    const activity = describeIn(program.tell(), program.thread.task);
    expect(activity).toMatchObject({ activity: "running", for: 4000e6 });
    expect(plain(activity.text)).toBe("running in read for 4.00 s");
  });

  it("GIVEN a task that has ended WHEN it is described THEN it says when", () => {
    const program = new Program();
    const main = program.thread.task;
    const task = program.create();
    program.to(task).enter("work").cpu(1).leave().end(main).cpu(2000);
    expect(plain(describeIn(program.tell(), task).text)).toBe("ended 2.00 s ago");
  });
});

describe("waitSummary", () => {
  it("GIVEN parked tasks WHEN they are summed THEN work of others comes first, most tasks first, hubs are left out", () => {
    const program = new Program();
    const hub = program.hub();
    const park = (path: string[], wait: string): void => {
      const task = program.create();
      program
        .to(task)
        .enter(...path)
        .cpu(1)
        .to(hub, wait)
        .cpu(1);
    };
    for (let i = 0; i < 5; i++) park(["worker", QUEUE_GET], "");
    for (let i = 0; i < 3; i++) park(["a"], "sem.acquire");
    park(["b"], "lock.acquire");
    const summary = waitSummary(program.tell()).map(({ place, idle, tasks, longest }) => [
      place,
      idle,
      tasks,
      longest / 1e6,
    ]);
    // The main task, which waits in nothing known, began to wait first.
    expect(summary).toEqual([
      ["sem.acquire", false, 3, 7],
      ["", false, 1, 18],
      ["lock.acquire", false, 1, 1],
      ["Queue.get", true, 5, 17],
    ]);
  });
});

describe("places", () => {
  it.each([
    ["Queue.get", true],
    ["SimpleQueue.get", true],
    ["self.queue.get", true],
    ["task_queue.get_nowait", true],
    ["socket.accept", true],
    ["BaseServer.do_accept", true],
    ["WSGIHandler.read_requestline", true],
    ["sleep", true],
    ["gevent.sleep", true],
    ["BaseServer.serve_forever", true],
    ["dict.get", false],
    ["Pool.acquire", false],
    ["Queue.put", false],
    ["Event.wait", false],
    ["oversleep", false],
    ["socket.recv", false],
  ])("WHEN %s is asked about THEN waiting there is idle: %s", (name, idle) => {
    expect(isIdlePlace(name)).toBe(idle);
  });

  it("WHEN functions to hide are asked for THEN they are waits of libraries, not servers, not own code", () => {
    const program = new Program().enter(
      `WSGIHandler.handle_one_request@${G}/pywsgi.py:1`,
      ...[
        LINE,
        QUEUE_GET,
        "sleep@/app/shop.py:3",
        `sleep@${G}/hub.py:3`,
        `BaseServer.serve_forever@${G}/baseserver.py:1`,
      ],
    );
    const store = program.cpu(1).tell();
    const names = idleFunctions(store).map((id) => store.functions.qualnameOf(id));
    expect(names).toEqual(["WSGIHandler.read_requestline", "Queue.get", "sleep"]);
  });

  it("GIVEN a task of another group WHEN its node is not subscribed THEN its wait still has a name", () => {
    const program = new Program();
    const hub = program.hub();
    const task = program.create();
    program.to(task).enter("a").to(hub, "sem.acquire").cpu(1);
    const store = program.tell();
    store.nodes.thread.fill(0); // none is known
    expect(placeOf(store, store.tasks.rowOf(task.id))).toEqual({
      place: "sem.acquire",
      caller: "",
      idle: false,
    });
  });
});

describe("modules", () => {
  it.each([
    ["/srv/venv/lib/python3.12/site-packages/flask/app.py", "flask", "library", "flask/app.py"],
    ["/usr/lib/python3/dist-packages/six.py", "six", "library", "six.py"],
    [`${G}/hub.py`, "gevent", "gevent", "gevent/hub.py"],
    [
      "/srv/venv/lib/python3.12/site-packages/greenlet/__init__.py",
      "greenlet",
      "gevent",
      "greenlet/__init__.py",
    ],
    ["/usr/lib/python3.12/json/encoder.py", "stdlib", "stdlib", "json/encoder.py"],
    ["/root/.pyenv/versions/3.13.0/lib/python3.13t/queue.py", "stdlib", "stdlib", "queue.py"],
    ["C:\\Python312\\Lib\\socket.py", "stdlib", "stdlib", "socket.py"],
    ["<frozen importlib._bootstrap>", "stdlib", "stdlib", "<frozen importlib._bootstrap>"],
    ["/srv/shop/shop/views.py", "shop", "own", "shop/views.py"],
    ["/srv/lib/app/views.py", "app", "own", "app/views.py"],
    ["app.py", "app", "own", "app.py"],
    ["./app.py", "app", "own", "app.py"],
    ["<string>", "<string>", "own", "<string>"],
    ["", "builtin", "builtin", ""],
  ])("WHEN the file is %s THEN the module is %s", (file, name, origin, short) => {
    expect(describeFile(file)).toEqual({ name, origin, short });
  });

  it("WHEN functions are asked for THEN files are short and lines stay", () => {
    const program = new Program().enter("views.report@/srv/shop/shop/views.py:148", "sorted@:0");
    const store = program.cpu(1).tell();
    const modules = new Modules(store);
    expect([modules.shortFile(1), modules.shortPlace(1)]).toEqual(["shop/views.py", "shop/views.py:148"]);
    expect([modules.of(2), modules.shortPlace(2)]).toEqual([{ name: "builtin", origin: "builtin" }, ""]);
  });
});
