import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileName, processRows, type ServedProcess, scriptNames } from "../src/index.ts";

function process(pid: number, parent: number, script = "app.py"): ServedProcess {
  const url = `http://127.0.0.1:${pid}/#t=00`;
  return { pid, parent, script, python: "3.12.1", started: 1.7e9 + pid, url, self: pid === 1 };
}

const shown = (processes: readonly ServedProcess[]): string[] =>
  processRows(processes).map(({ process, depth, parent }) => `${" ".repeat(depth)}${process.pid}<${parent}`);

describe("processRows", () => {
  it("GIVEN a server, its workers and another program WHEN they are listed THEN workers stand below their server", () => {
    const all = [process(1, 900), process(2, 901), process(3, 1), process(4, 1), process(5, 2)];
    expect(shown(all)).toEqual(["1<0", " 3<1", " 4<1", "2<0", " 5<2"]);
  });

  it("GIVEN a worker's own child WHEN they are listed THEN it stands below the worker, in front of the next", () => {
    expect(shown([process(1, 0), process(2, 1), process(3, 1), process(4, 2)])).toEqual([
      "1<0",
      " 2<1",
      "  4<2",
      " 3<1",
    ]);
  });

  it("GIVEN a parent that is not listed WHEN its children are THEN they are nobody's", () => {
    expect(shown([process(3, 2), process(4, 2)])).toEqual(["3<0", "4<0"]);
  });

  it("GIVEN process ids that were used again WHEN entries name each other as parents THEN each is listed once", () => {
    expect(shown([process(1, 2), process(2, 1), process(3, 3)])).toEqual(["1<0", " 2<1", "3<0"]);
  });

  it("GIVEN any processes WHEN they are listed THEN each is there once, and a child directly below who is listed", () => {
    const some = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 12 });
    fc.assert(
      fc.property(some, (pairs) => {
        const all = pairs.map(([pid, parent]) => process(pid, parent));
        const rows = processRows(all);
        expect(new Set(rows.map((row) => row.process))).toEqual(new Set(all));
        expect(rows).toHaveLength(all.length);
        rows.forEach(({ depth, parent }, i) => {
          const above = rows.slice(0, i).findLast((row) => row.depth < depth);
          if (depth > 0) expect([above?.process.pid, above?.depth]).toEqual([parent, depth - 1]);
          else expect(parent).toBe(0);
        });
      }),
    );
  });
});

describe("names of scripts", () => {
  const names = (...scripts: string[]): string[] => [...scriptNames(scripts).values()];

  it("GIVEN scripts of different names WHEN they are named THEN folders are left out", () => {
    expect(names("/srv/shop/app.py", "/srv/mail/worker.py", "-m gunicorn")).toEqual([
      "app.py",
      "worker.py",
      "-m gunicorn",
    ]);
  });

  it("GIVEN two scripts of the same name WHEN they are named THEN as many folders stand there as tell them apart", () => {
    expect(names("/srv/shop/manage.py", "/srv/mail/manage.py", "/srv/x/app.py")).toEqual([
      "shop/manage.py",
      "mail/manage.py",
      "app.py",
    ]);
    expect(names("/a/x/manage.py", "/b/x/manage.py", "manage.py")).toEqual([
      "a/x/manage.py",
      "b/x/manage.py",
      "manage.py",
    ]);
  });

  it("GIVEN several processes of one script WHEN they are named THEN that does not make the name longer", () => {
    expect(names("/srv/app.py", "/srv/app.py")).toEqual(["app.py"]);
  });

  it.each([
    ["/usr/lib/gunicorn/__main__.py", "gunicorn/__main__.py"],
    ["__main__.py", "__main__.py"],
    ["app.py", "app.py"],
    ["/srv/folder/", "/srv/folder/"],
    ["", ""],
  ])("WHEN the script is %j THEN its name is %j", (script, name) => {
    expect(fileName(script)).toBe(name);
    expect(names(script)).toEqual([name]);
  });
});
