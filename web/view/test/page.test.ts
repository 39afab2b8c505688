import { describe, expect, it } from "vitest";
import { EVERYTHING, ON_HUBS, WHOLE } from "../src/state/page.ts";
import {
  firstRow,
  hubNow,
  hubRows,
  scopeName,
  selectedFunction,
  selectedNode,
} from "../src/state/selectors.ts";
import { ShopPage } from "./shop-page.ts";

const REPORT = [
  ...["WSGIHandler.handle", "WSGIHandler.handle_one_request", "WSGIHandler.handle_one_response"],
  ...["WSGIHandler.run_application", "Flask.wsgi_app", "Flask.full_dispatch_request", "report"],
];

describe("Page: zoom and selection", () => {
  it("GIVEN a zoomed and selected frame WHEN updates come THEN both stay, and its numbers go on", () => {
    const shop = new ShopPage();
    const { page } = shop;
    page.openFlame(shop.group("WSGIHandler.handle"));
    const path = shop.path(...REPORT);
    page.selection.value = { kind: "frame", path };
    page.zoomTo({ path, lo: 0, hi: 1 });
    page.refreshTree();
    const before = page.tree.totalOf(selectedNode(page), page.kinds.value);
    shop.run(10);
    page.refreshTree();
    expect(page.zoom.value.path).toEqual(path);
    expect(page.tree.path(selectedNode(page))).toEqual(path);
    expect(page.tree.totalOf(selectedNode(page), page.kinds.value)).toBeGreaterThan(before);
  });

  it("GIVEN a selection WHEN the connection was lost and the whole comes anew THEN it is still there", () => {
    const shop = new ShopPage();
    const { page } = shop;
    page.openFlame(shop.group("WSGIHandler.handle"), shop.path(...REPORT));
    const fn = selectedFunction(page);
    shop.reconnect().run(1);
    page.refreshTree();
    expect(selectedFunction(page)).toBe(fn);
    expect(page.tree.function[selectedNode(page)]).toBe(fn);
  });

  it("GIVEN steps into frames WHEN one steps out THEN they come back in turn, then nothing", () => {
    const { page } = new ShopPage(1, 2);
    page.zoomTo({ path: [1], lo: 0, hi: 1 });
    page.zoomTo({ path: [1, 2], lo: 0, hi: 1 });
    page.zoom.value = { path: [1, 2], lo: 0.2, hi: 0.4 };
    expect(page.zoomOut()).toBe(true);
    expect(page.zoom.value).toEqual({ path: [1, 2], lo: 0, hi: 1 });
    expect(page.zoomOut()).toBe(true);
    expect(page.zoom.value.path).toEqual([1]);
    expect(page.zoomOut()).toBe(true);
    expect(page.zoom.value).toEqual(WHOLE);
    expect(page.zoomOut()).toBe(false);
  });

  it("GIVEN a zoomed frame WHEN its function is hidden THEN the whole is in sight and the function's time is gone", () => {
    const shop = new ShopPage();
    const { page } = shop;
    page.openFlame(shop.group("WSGIHandler.handle"));
    page.refreshTree();
    const before = page.tree.totalOf(0, page.kinds.value);
    const path = shop.path(...REPORT);
    page.zoomTo({ path, lo: 0, hi: 1 });
    page.hide(path[path.length - 1]!);
    page.refreshTree();
    expect(page.zoom.value).toEqual(WHOLE);
    const hidden = page.tree.hiddenTimes(path[path.length - 1]!);
    expect(hidden.blocked).toBeGreaterThan(0);
    expect(page.tree.totalOf(0, page.kinds.value)).toBeCloseTo(before - hidden.cpu - hidden.blocked, -3);
    page.unhide(path[path.length - 1]!);
    page.refreshTree();
    expect(page.tree.totalOf(0, page.kinds.value)).toBeCloseTo(before, -3);
  });
});

describe("Page: kinds and idle waits", () => {
  it("GIVEN one counted kind WHEN it is switched off THEN it stays, since nothing would be left", () => {
    const { page } = new ShopPage(1, 2);
    page.toggleKind("blocked");
    page.toggleKind("cpu");
    expect(page.kinds.value).toMatchObject({ cpu: true, blocked: false });
    page.toggleKind("waited", true);
    expect(page.kinds.value).toEqual({ cpu: false, blocked: false, waited: true, idle: false });
  });

  it("GIVEN cpu and blocked WHEN nothing waited is counted THEN no idle wait is hidden, as that could hide a culprit", () => {
    const { page } = new ShopPage();
    expect(page.idleHidden()).toEqual([]);
    page.toggleKind("waited");
    const names = page.idleHidden().map((fn) => page.store.functions.qualnameOf(fn));
    expect(names).toContain("WSGIHandler.read_requestline");
    page.hideIdle.value = false;
    expect(page.idleHidden()).toEqual([]);
  });
});

describe("Page: scope", () => {
  it("GIVEN a thread without a hub WHEN the scope is the hubs THEN its waiting does not count", () => {
    const shop = new ShopPage();
    const { page } = shop;
    expect(page.scope.value).toBe(ON_HUBS);
    page.refreshTree();
    const onHubs = page.tree.totalOf(0, page.kinds.value);
    page.setScope(EVERYTHING);
    page.refreshTree();
    const log = page.store.groups.times(shop.group("LogWriter.run"));
    expect(page.groupHubs.onHub(shop.group("LogWriter.run"))).toBe(false);
    expect(page.groupHubs.onHub(shop.group("WSGIHandler.handle"))).toBe(true);
    expect(page.tree.totalOf(0, page.kinds.value) - onHubs).toBeCloseTo(log.cpu + log.blocked, -3);
  });

  it("GIVEN the scope of a group WHEN its flame is shown THEN it begins with the entry function", () => {
    const shop = new ShopPage();
    const { page } = shop;
    page.setScope(shop.group("order_worker"));
    page.refreshTree();
    expect(firstRow(page)).toBe(1);
    expect(scopeName(page)).toBe("order_worker");
    expect(page.tree.children(0).length).toBe(1);
    page.setScope(ON_HUBS);
    page.refreshTree();
    expect(firstRow(page)).toBe(0);
    expect(scopeName(page)).toBe("All tasks on hubs");
  });

  it("GIVEN a task WHEN its flame is opened THEN the scope is its group and the selection where it is", () => {
    const shop = new ShopPage();
    const { page } = shop;
    const { tasks, nodes } = page.store;
    let row = 0;
    while (nodes.path(tasks.node[row]!).length < 2) row++;
    page.openTaskFlame(tasks.id[row]!);
    expect(page.view.value).toBe("flame");
    expect(page.scope.value).toBe(tasks.group[row]!);
    expect(page.selection.value).toEqual({ kind: "frame", path: nodes.path(tasks.node[row]!) });
  });
});

describe("Page: the culprit", () => {
  it("GIVEN a route that blocks its hub WHEN some seconds have passed THEN report() names it, once an update", () => {
    const shop = new ShopPage(60, 90);
    const report = shop.page.report();
    expect(report.sentence).toMatch(/^report holds hub 1 for/);
    expect(shop.page.report()).toBe(report);
    shop.run(1);
    expect(shop.page.report()).not.toBe(report);
  });

  it("GIVEN two hubs and a plain thread WHEN the hubs are listed THEN the thread is not, and each says what it does", () => {
    const { page } = new ShopPage();
    const rows = hubRows(page);
    expect(rows.map((row) => page.store.threads.hubName(row))).toEqual(["hub 1", "hub 2"]);
    for (const row of rows) expect(hubNow(page, row, page.report()).activity).not.toBe("none");
  });
});

describe("Page: colours", () => {
  it("GIVEN the shop's modules WHEN stats are read THEN libraries have different hues and own code none", () => {
    const shop = new ShopPage();
    const { page } = shop;
    page.refreshStats();
    const token = (name: string): string => page.colours.token(page.modules.of(shop.path(name)[0]!));
    expect(token("report")).toBe("own");
    expect(token("WSGIHandler.handle")).toBe("loop");
    expect(token("Flask.wsgi_app")).toMatch(/^lib-\d$/);
    expect(token("Flask.wsgi_app")).not.toBe(token("Session.execute"));
  });
});
