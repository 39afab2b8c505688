import { formatPercent, formatTime } from "@flamelet/model";
import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import { firstRow, scopeName, selectedNode } from "../state/selectors.ts";

const MOST = 30;

/**
 * The flame for assistive technology: the path to the selected frame, the frames beside it and its callees as items of a
 * tree, with the numbers that the picture shows. It moves with the selection (arrow keys on the canvas).
 */
export function FlameItems(): JSX.Element {
  const page = usePage();
  const { tree, store } = page;
  const kinds = page.kinds.value;
  const selected = Math.max(firstRow(page) === 1 ? tree.children(0)[0]! : 0, selectedNode(page));
  const whole = tree.totalOf(0, kinds);
  const path: number[] = [];
  for (let node = tree.parent[selected] ?? -1; node >= firstRow(page); node = tree.parent[node]!)
    path.unshift(node);
  const largest = (parent: number): number[] =>
    [...tree.children(parent)]
      .filter((child) => tree.totalOf(child, kinds) > 0)
      .sort((a, b) => tree.totalOf(b, kinds) - tree.totalOf(a, kinds));
  const parent = tree.parent[selected] ?? -1;
  const beside = parent < firstRow(page) ? [selected] : largest(parent);
  const callees = largest(selected);
  const item = (node: number, position: number, among: number): JSX.Element => {
    const fn = tree.function[node]!;
    const time = tree.totalOf(node, kinds);
    return (
      <div
        key={node}
        role="treeitem"
        tabIndex={-1}
        id={node === selected ? "flame-item-selected" : undefined}
        aria-level={tree.depth[node]! + 1}
        aria-posinset={position + 1}
        aria-setsize={among}
        aria-selected={node === selected}
        aria-expanded={node === selected ? callees.length > 0 : undefined}
      >
        {fn === 0 ? scopeName(page) : store.functions.qualnameOf(fn)}, {formatTime(time).text},{" "}
        {formatPercent(whole > 0 ? time / whole : 0).text}
      </div>
    );
  };
  const items: JSX.Element[] = path.map((node) => item(node, 0, 1));
  beside.slice(0, MOST).forEach((node, i) => {
    items.push(item(node, i, beside.length));
    if (node === selected)
      items.push(...callees.slice(0, MOST).map((callee, k) => item(callee, k, callees.length)));
  });
  if (!beside.slice(0, MOST).includes(selected))
    items.push(item(selected, beside.indexOf(selected), beside.length));
  return (
    // biome-ignore lint/a11y/useSemanticElements: items of the tree around it
    <div class="unseen" role="group" data-testid="flame-items">
      {items}
    </div>
  );
}
