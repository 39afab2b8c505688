import type { JSX } from "preact";
import { usePage } from "../state/context.ts";
import type { Selection } from "../state/page.ts";
import { selectedNode } from "../state/selectors.ts";
import { LongestSlices } from "../timeline/timeline-items.tsx";
import { FrameSections } from "./frame-sections.tsx";
import { FunctionSections } from "./function-sections.tsx";
import { GroupSections } from "./group-sections.tsx";
import { SliceSections } from "./slice-sections.tsx";
import { TaskSections } from "./task-sections.tsx";

/**
 * Exact numbers of what is selected: one place, the same order of sections for all. Never empty: without a selection it
 * shows the root of the scope, or in Tasks `fallback`.
 */
export function Inspector({ fallback = null }: { fallback?: Selection }): JSX.Element {
  const page = usePage();
  page.refreshTree();
  return (
    <aside class="side" data-testid="inspector" aria-label="Selection">
      <Sections fallback={fallback} />
    </aside>
  );
}

function Sections({ fallback }: { fallback: Selection }): JSX.Element {
  const page = usePage();
  const selection = page.selection.value;
  if (page.view.value === "tasks") {
    const shown = selection?.kind === "group" || selection?.kind === "task" ? selection : fallback;
    if (shown?.kind === "task") return <TaskSections id={shown.id} />;
    if (shown?.kind !== "group") return <Nothing text="No task is selected." />;
    return <GroupSections groupKey={shown.key} group={shown.group} title={shown.title} />;
  }
  if (page.view.value === "timeline") {
    const slice = page.slice.value;
    if (selection?.kind !== "task") return <LongestSlices />;
    return (
      <>
        {slice === null || slice.task !== selection.id ? null : <SliceSections slice={slice} />}
        <TaskSections id={selection.id} />
      </>
    );
  }
  if (selection?.kind === "task" && page.view.value === "flame") return <TaskSections id={selection.id} />;
  if (selection?.kind === "function") return <FunctionSections fn={selection.fn} />;
  const node = selectedNode(page);
  if (selection?.kind === "frame" && node < 0) {
    return <Nothing text="The selected frame is not in this scope, or has no time that is counted." />;
  }
  return <FrameSections node={Math.max(0, node)} />;
}

function Nothing({ text }: { text: string }): JSX.Element {
  return (
    <section>
      <p class="weak">{text}</p>
    </section>
  );
}
