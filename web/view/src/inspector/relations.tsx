import { calleesOf, callersOf, formatCount, type Relation } from "@flamelet/model";
import type { JSX } from "preact";
import { RelationRow } from "../parts/relation-row.tsx";
import { usePage } from "../state/context.ts";

const MOST = 12;

/** Who calls the function and whom it calls, in the scope; `whole` ns are 100 %. */
export function Relations(props: {
  fn: number;
  whole: number;
  onFunction: (fn: number, as: "caller" | "callee") => void;
}): JSX.Element {
  const page = usePage();
  const kinds = page.kinds.value;
  const { fn, whole, onFunction } = props;
  return (
    <section>
      <List
        title="Callers"
        relations={callersOf(page.tree, fn, kinds)}
        whole={whole}
        onFunction={(other) => onFunction(other, "caller")}
      />
      <List
        title="Callees"
        relations={calleesOf(page.tree, fn, kinds)}
        whole={whole}
        onFunction={(other) => onFunction(other, "callee")}
      />
    </section>
  );
}

function List(props: {
  title: string;
  relations: readonly Relation[];
  whole: number;
  onFunction: (fn: number) => void;
}): JSX.Element {
  const page = usePage();
  const { functions } = page.store;
  const kinds = page.kinds.value;
  const known = props.relations.filter((relation) => relation.function !== 0);
  return (
    <div class="relations" data-testid={props.title.toLowerCase()}>
      <h3>
        {props.title} <span class="weak">{known.length === 0 ? "none" : formatCount(known.length)}</span>
      </h3>
      {known.slice(0, MOST).map((relation) => (
        <RelationRow
          key={relation.function}
          token={page.colours.token(page.modules.of(relation.function))}
          name={functions.qualnameOf(relation.function)}
          place={functions.placeOf(relation.function)}
          times={relation.total}
          kinds={kinds}
          whole={props.whole}
          onClick={() => props.onFunction(relation.function)}
        />
      ))}
      {known.length > MOST ? (
        <p class="weak more">{formatCount(known.length - MOST)} more, with less time</p>
      ) : null}
    </div>
  );
}
