import type { JSX } from "preact";

/** A few exclusive choices side by side. */
export function Choice<T extends string>(props: {
  label: string;
  options: readonly { value: T; title: string; hint?: string }[];
  value: T;
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a legend and borders of its own
    <span class="choice" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          title={option.hint}
          aria-pressed={option.value === props.value}
          onClick={() => props.onChange(option.value)}
        >
          {option.title}
        </button>
      ))}
    </span>
  );
}
