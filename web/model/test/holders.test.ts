import { Camera, Shop, type TaskRow, updateBetween } from "@flamelet/testing";
import { describe, expect, it } from "vitest";
import { hubReport, NARROW_SPACE, Store } from "../src/index.ts";
import { Program } from "./build.ts";

const HANDLE = "WSGIHandler.handle@/x/site-packages/gevent/pywsgi.py:5";
const EXECUTE = "sqlite3.Cursor.execute@:0";
const plain = (text: string): string => text.replaceAll(NARROW_SPACE, " ");

/** A program whose requests hold the hub: 38 ms on the CPU and 142 ms blocked each. */
class Server extends Program {
  readonly loop: TaskRow = this.hub();

  report(
    path = [HANDLE, "report@/srv/shop/shop/views.py:148", "build_rows@/srv/shop/shop/report.py:22", EXECUTE],
  ): this {
    const task = this.create();
    return this.to(task)
      .enter(...path)
      .cpu(38)
      .off(142)
      .leave(path.length)
      .end(this.loop);
  }

  lasting(time: number): this {
    return this.to(this.create()).enter(HANDLE, "report@/srv/shop/shop/views.py:148", EXECUTE).off(time);
  }
}

describe("hubReport", () => {
  it("GIVEN a route that holds its hub often WHEN it is reported THEN the sentence says who, how long, how much, where", () => {
    const server = new Server();
    for (let i = 0; i < 5; i++) server.report().off(820);
    const report = hubReport(server.tell());
    expect(plain(report.sentence)).toBe(
      "report holds hub 1 for 180 ms each time, 18.0 % of its time: 142 ms blocked in build_rows › sqlite3.Cursor.execute",
    );
    const marked = report.parts
      .filter((part) => part.role !== "plain")
      .map((part) => [part.role, plain(part.text)]);
    expect(marked).toEqual([
      ["actor", "report"],
      ["hub", "hub 1"],
      ["share", "18.0 %"],
      ["place", "build_rows"],
      ["place", "sqlite3.Cursor.execute"],
      ["file", "shop/report.py:22"],
    ]);
    expect(report.culprit).toMatchObject({
      count: 5,
      longest: 180e6,
      mean: 180e6,
      meanBlocked: 142e6,
      lasting: 0,
    });
    expect(report.culprit!.slices).toEqual([1, 2, 3, 4, 5]);
    expect(report.window).toBe(5000e6);
  });

  it("GIVEN a CPU loop WHEN it is reported THEN it is on the CPU, and no place is said twice", () => {
    const server = new Server();
    for (let i = 0; i < 3; i++) server.report(["spin@/srv/shop/shop/views.py:9"]).off(500);
    const text = plain(hubReport(server.tell()).sentence);
    expect(text).toMatch(/^spin holds hub 1 for 180 ms each time, .* of its time: 142 ms blocked$/);
    const burner = new Server();
    for (let i = 0; i < 3; i++) {
      burner
        .to(burner.create())
        .enter("spin@/srv/shop/shop/views.py:9")
        .cpu(150)
        .leave()
        .end(burner.loop)
        .off(350);
    }
    expect(plain(hubReport(burner.tell()).sentence)).toBe(
      "spin holds hub 1 for 150 ms each time, 30.0 % of its time: 150 ms on the CPU",
    );
  });

  it.each([
    ["two times", 2, 820, null],
    ["three times, under 1 % of the hub", 3, 19_000, null],
    ["three times, over 1 % of the hub", 3, 17_000, 3],
  ])("GIVEN a hub held %s WHEN it is reported THEN the threshold decides", (_, times, pause, count) => {
    const server = new Server();
    for (let i = 0; i < times; i++) server.report().off(pause);
    const report = hubReport(server.tell());
    expect(report.culprit?.count ?? null).toBe(count);
    expect(report.holders).toHaveLength(1);
    if (count === null)
      expect(plain(report.sentence)).toBe("No hub was held for more than 100 ms often enough to matter.");
  });

  it("GIVEN nothing long WHEN it is reported THEN it says so", () => {
    const server = new Server().off(5000);
    expect(plain(hubReport(server.tell()).sentence)).toBe("No hub was held for more than 100 ms.");
    const noHub = new Program().enter("main").cpu(500);
    expect(hubReport(noHub.tell())).toMatchObject({
      culprit: null,
      sentence: "No hub has been seen yet.",
      holders: [],
    });
  });

  it("GIVEN a slice that still lasts WHEN it is older than a second THEN it comes first", () => {
    const server = new Server();
    for (let i = 0; i < 4; i++) server.report().off(200);
    server.lasting(900);
    const store = server.tell();
    expect(hubReport(store).culprit).toMatchObject({ count: 5, lasting: 900e6, longest: 900e6 });
    expect(hubReport(store).holders.find((h) => h.lasting > 0)).toMatchObject({
      lasting: 900e6,
      count: 1,
      slices: [],
    });
    server.off(400);
    server.tell(store);
    const report = hubReport(store);
    expect(report.culprit).toMatchObject({ lasting: 1300e6, count: 1 });
    expect(plain(report.sentence)).toBe(
      "report has held hub 1 for 1.30 s and still does: 1.30 s blocked in sqlite3.Cursor.execute",
    );
  });

  it("GIVEN one that lasts and held before at the same path WHEN it is reported THEN they are one holder", () => {
    const server = new Server();
    const path = [HANDLE, "report@/srv/shop/shop/views.py:148", EXECUTE];
    for (let i = 0; i < 2; i++) server.report(path).off(200);
    server.lasting(300);
    const report = hubReport(server.tell());
    expect(report.holders).toHaveLength(1);
    expect(report.culprit).toMatchObject({ count: 3, lasting: 300e6, longest: 300e6, slices: [1, 2] });
  });

  it("GIVEN an actor that held at many paths WHEN it is reported THEN they are put together where most lies", () => {
    const server = new Server();
    const base = [
      HANDLE,
      "middleware@/srv/shop/shop/app.py:1",
      "Flask.wsgi_app@/x/site-packages/flask/app.py:1",
    ];
    const step = [...base, "search@/srv/shop/shop/views.py:5", "rank@/srv/shop/shop/search.py:7"];
    for (const deeper of ["a", "b", "a", "c", "d"]) {
      server.report([...step, `${deeper}@/srv/shop/shop/search.py:9`]).off(200);
    }
    server.report([...base, "cart@/srv/shop/shop/views.py:50"]).off(200);
    const store = server.tell();
    const report = hubReport(store);
    expect(report.holders.map((holder) => holder.count)).toEqual([2, 1, 1, 1, 1]);
    expect(report.culprit).toMatchObject({ count: 5, held: 900e6, slices: [1, 2, 3, 4, 5], meanCpu: 38e6 });
    expect(plain(report.sentence)).toMatch(/^search holds hub 1 .*: 142 ms blocked in rank$/);
    expect(report.culprit!.path).toEqual(store.nodes.path(report.culprit!.node));
  });

  it("GIVEN a hub that polls for long, and its threads without a hub WHEN it is reported THEN nobody holds it", () => {
    const server = new Server().off(9000);
    const plainThread = server.core.attachThread(0, 9, "log");
    server.core.enter(0, plainThread, server.fn("log"));
    expect(hubReport(server.tell()).holders).toEqual([]);
  });

  it("GIVEN a slice that began before the window WHEN it is reported THEN only the part inside counts", () => {
    const server = new Server().off(1000).report();
    const store = server.tell();
    const report = hubReport(store, { window: 90e6 });
    expect(report.holders[0]).toMatchObject({ held: 90e6, longest: 180e6, share: 1 });
    expect(hubReport(store, { threshold: 200e6 }).holders).toEqual([]);
  });

  it.each([
    ["sqlite", "report", /blocked in build_rows › sqlite3\.Cursor\.execute$/],
    ["sort", "report", /on the CPU in build_rows › sorted$/],
    ["none", null, /^No hub was held/],
  ] as const)(
    "GIVEN the shop with the culprit %s WHEN it ran for half a minute THEN it is named",
    (culprit, actor, sentence) => {
      const shop = new Shop({ culprit, seed: 3 });
      shop.runTo(30e9);
      const store = new Store();
      store.apply(updateBetween(null, new Camera(shop.core).take(30e9)));
      const report = hubReport(store);
      expect(report.culprit === null ? null : store.functions.qualnameOf(report.culprit.actor)).toBe(actor);
      expect(report.sentence).toMatch(sentence);
    },
  );
});
