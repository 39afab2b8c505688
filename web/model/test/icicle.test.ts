import { Camera, Core, RandomProgram, type RandomStep, updateBetween } from "@flamelet/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_KINDS, Icicle, type IcicleOptions, Store, Tree } from "../src/index.ts";
import { idOf, Program } from "./build.ts";

const ALL = { cpu: true, blocked: true, idle: true, waited: true };

/** main > b (1 ms), main > a (4 ms) > z (1 ms), main > c (2 ms); 1 ms in main itself. */
function small(): Icicle {
  const program = new Program()
    .enter("main", "b")
    .cpu(1)
    .leave()
    .enter("a")
    .cpu(3)
    .enter("z")
    .cpu(1)
    .leave(2);
  const tree = new Tree(program.enter("c").cpu(2).leave().cpu(1).tell());
  tree.update();
  return new Icicle(tree);
}

function boxes(icicle: Icicle): string[] {
  const { functions } = icicle.tree.store;
  return Array.from({ length: icicle.size }, (_, box) => {
    const name = functions.qualnameOf(icicle.tree.function[icicle.node[box]!]!);
    return `${icicle.depth[box]} ${name} ${icicle.x[box]! * 8} ${icicle.w[box]! * 8}`;
  });
}

describe("Icicle", () => {
  it("GIVEN a tree WHEN it is laid out by name THEN children are beside each other, own time is left free", () => {
    const icicle = small();
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name" });
    expect(boxes(icicle)).toEqual(["0  0 8", "1 main 0 8", "2 a 0 4", "2 b 4 1", "2 c 5 2", "3 z 0 1"]);
    expect([icicle.rows, icicle.total]).toEqual([4, 8e6]);
  });

  it("GIVEN a tree WHEN it is laid out by width THEN the widest is first, equal ones by name", () => {
    const icicle = small();
    icicle.layout({ kinds: DEFAULT_KINDS, order: "width" });
    expect(boxes(icicle)).toEqual(["0  0 8", "1 main 0 8", "2 a 0 4", "2 c 4 2", "2 b 6 1", "3 z 0 1"]);
  });

  it("GIVEN children of one width WHEN they are laid out by width THEN span() and boxes keep the order of names", () => {
    const program = new Program().enter("main");
    for (const name of ["c", "a", "d", "b"]) program.enter(name).cpu(1).leave();
    const tree = new Tree(program.tell());
    tree.update();
    const icicle = new Icicle(tree);
    icicle.layout({ kinds: DEFAULT_KINDS, order: "width" });
    const at = ["a", "b", "c", "d"].map((name) =>
      tree.findPath([idOf(tree.store, "main"), idOf(tree.store, name)]),
    );
    expect(at.map((node) => icicle.span(node).x)).toEqual([0, 0.25, 0.5, 0.75]);
    expect(at.map((node) => icicle.x[icicle.boxOf(node)])).toEqual([0, 0.25, 0.5, 0.75]);
  });

  it("GIVEN kinds that never occurred WHEN they are counted THEN only the root has a box", () => {
    const icicle = small();
    icicle.layout({ kinds: { cpu: false, blocked: false, idle: true, waited: false }, order: "name" });
    expect(boxes(icicle)).toEqual(["0  0 8"]);
    expect(icicle.span(2)).toEqual({ x: 0, w: 0 });
  });

  it("GIVEN a window on a node WHEN it is laid out THEN its callers are there and its neighbours are not", () => {
    const icicle = small();
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name" });
    const { tree } = icicle;
    const node = tree.findPath([idOf(tree.store, "main"), idOf(tree.store, "c")]);
    const { x, w } = icicle.span(node);
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name", from: x + w / 100, to: x + w * 0.99 });
    expect(boxes(icicle)).toEqual(["0  0 8", "1 main 0 8", "2 c 5 2"]);
    expect(icicle.boxOf(node)).toBe(2);
    expect(icicle.boxOf(tree.findPath([idOf(tree.store, "main"), idOf(tree.store, "a")]))).toBe(-1);
  });

  it("GIVEN hidden functions WHEN it is laid out THEN they have no box and take no width", () => {
    const icicle = small();
    icicle.tree.setHidden([idOf(icicle.tree.store, "a")]);
    icicle.tree.update();
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name" });
    expect(icicle.total).toBe(4e6);
    expect(boxes(icicle)).toEqual(["0  0 8", "1 main 0 8", "2 b 0 2", "2 c 2 4"]);
  });

  it("GIVEN places WHEN they are hit THEN the box there is found, or none", () => {
    const icicle = small();
    icicle.layout({ kinds: DEFAULT_KINDS, order: "name" });
    expect(icicle.hit(2, 4.5 / 8)).toBe(3);
    expect(icicle.hit(2, 7.5 / 8)).toBe(-1);
    expect(icicle.hit(3, 1.5 / 8)).toBe(-1);
    expect(icicle.hit(9, 0)).toBe(-1);
    expect(icicle.hit(-1, 0)).toBe(-1);
    expect(icicle.visible(9, 0, 1)).toEqual([0, 0]);
  });

  it("GIVEN any program and options WHEN it is laid out THEN boxes nest, do not overlap, and are found", () => {
    const step: fc.Arbitrary<RandomStep> = fc.record({
      what: fc.nat(11),
      who: fc.nat(1000),
      after: fc.nat(1000),
    });
    const options = fc.record({
      kinds: fc.constantFrom(DEFAULT_KINDS, ALL),
      order: fc.constantFrom("name" as const, "width" as const),
      minWidth: fc.constantFrom(0, 0.001, 0.05),
    });
    const window = fc.tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 5, maxLength: 250 }),
        options,
        window,
        (steps, chosen, [a, b]) => {
          const core = new Core();
          const program = new RandomProgram(core);
          program.run(steps, () => {});
          const store = new Store();
          store.apply(updateBetween(null, new Camera(core).take(program.now + 1)));
          const tree = new Tree(store);
          tree.update();
          const icicle = new Icicle(tree);
          icicle.layout(chosen);
          check(icicle, chosen);
          checkWindow(icicle, chosen, Math.min(a, b), Math.max(a, b));
        },
      ),
      { numRuns: 80 },
    );
  });

  const EPSILON = 1e-9;

  function check(icicle: Icicle, { kinds, minWidth = 0 }: IcicleOptions): void {
    const { tree } = icicle;
    for (let row = 0; row < icicle.rows; row++) {
      for (let box = icicle.rowStart[row]!; box < icicle.rowStart[row + 1]!; box++) {
        const node = icicle.node[box]!;
        const span = icicle.span(node);
        expect(icicle.depth[box]).toBe(row);
        expect(icicle.boxOf(node)).toBe(box);
        expect(Math.abs(span.x - icicle.x[box]!)).toBeLessThan(EPSILON);
        if (node !== 0) {
          expect(icicle.w[box]).toBe(tree.totalOf(node, kinds) / icicle.total);
          const parent = icicle.boxOf(tree.parent[node]!);
          expect(icicle.x[box]!).toBeGreaterThanOrEqual(icicle.x[parent]! - EPSILON);
          expect(icicle.x[box]! + icicle.w[box]!).toBeLessThanOrEqual(
            icicle.x[parent]! + icicle.w[parent]! + EPSILON,
          );
        }
        if (box > icicle.rowStart[row]!) {
          expect(icicle.x[box]!).toBeGreaterThanOrEqual(icicle.x[box - 1]! + icicle.w[box - 1]! - EPSILON);
        }
        expect(icicle.hit(row, icicle.x[box]! + icicle.w[box]! / 2)).toBe(box);
      }
    }
    // Nothing that is wide enough was left out.
    for (let node = 1; node < tree.size; node++) {
      const w = icicle.total > 0 ? tree.totalOf(node, kinds) / icicle.total : 0;
      if (w > 0 && w >= minWidth) expect(icicle.boxOf(node)).toBeGreaterThan(0);
      else expect(icicle.boxOf(node)).toBe(-1);
    }
  }

  function checkWindow(icicle: Icicle, options: IcicleOptions, from: number, to: number): void {
    const touches = (box: number): boolean => icicle.x[box]! <= to && icicle.x[box]! + icicle.w[box]! >= from;
    const all: number[] = [];
    for (let box = 0; box < icicle.size; box++) if (touches(box)) all.push(icicle.node[box]!);
    for (let row = 0; row < icicle.rows; row++) {
      const found: number[] = [];
      for (let box = icicle.rowStart[row]!; box < icicle.rowStart[row + 1]!; box++)
        if (touches(box)) found.push(box);
      const [first, end] = icicle.visible(row, from, to);
      expect(Array.from({ length: end - first }, (_, i) => first + i)).toEqual(found);
    }
    icicle.layout({ ...options, from, to });
    expect([...icicle.node.subarray(0, icicle.size)]).toEqual(all);
  }
});
