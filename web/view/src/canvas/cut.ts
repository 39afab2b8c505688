// How names are shortened to the room they have. Pure: the width of a text comes from outside.

export type Measure = (text: string) => number;

const ELLIPSIS = "…";
/** Fewer letters than this say nothing; the frame stays blank. */
const LEAST = 3;

/**
 * The forms of a qualified name, longest first: leading parts go one by one. `f.<locals>.g` becomes `g` at once, since
 * `<locals>.g` is no name that anybody wrote.
 */
export function nameForms(qualname: string): string[] {
  const forms = [qualname];
  let rest = qualname;
  for (;;) {
    const dot = rest.indexOf(".");
    if (dot < 0 || dot === rest.length - 1) return forms;
    rest = rest.slice(dot + 1);
    if (rest.startsWith("<locals>.")) rest = rest.slice("<locals>.".length);
    forms.push(rest);
  }
}

/** The most that fits of `qualname` into `room`: whole, without leading parts, cut at the end, or nothing. */
export function cutName(qualname: string, room: number, measure: Measure): string {
  const forms = nameForms(qualname);
  for (const form of forms) if (measure(form) <= room) return form;
  return cutEnd(forms[forms.length - 1] ?? "", room, measure);
}

/** `text` whole, or its beginning and an ellipsis, or "" when under three letters would be left. */
export function cutEnd(text: string, room: number, measure: Measure): string {
  if (measure(text) <= room) return text;
  let fits = 0;
  let fails = text.length;
  while (fails - fits > 1) {
    const middle = (fits + fails) >> 1;
    if (measure(text.slice(0, middle) + ELLIPSIS) <= room) fits = middle;
    else fails = middle;
  }
  // Half of a surrogate pair is not a character.
  const code = text.charCodeAt(fits - 1);
  if (code >= 0xd800 && code < 0xdc00) fits -= 1;
  return fits < LEAST ? "" : text.slice(0, fits) + ELLIPSIS;
}

/** A `Measure` for one font that remembers: a flame asks for the same few hundred names 10 times a second. */
export function rememberedMeasure(g: CanvasRenderingContext2D): Measure {
  let font = "";
  const known = new Map<string, number>();
  return (text) => {
    if (g.font !== font) {
      font = g.font;
      known.clear();
    }
    let width = known.get(text);
    if (width === undefined) {
      if (known.size > 20_000) known.clear();
      width = g.measureText(text).width;
      known.set(text, width);
    }
    return width;
  };
}

/** "…/pool.py:63": folders go from the left until `chars` characters are enough; the file's name and the line stay. */
export function cutPlace(file: string, line: number, chars: number): string {
  const tail = line > 0 ? `:${line}` : "";
  let rest = file;
  while (rest.length + tail.length > chars) {
    const slash = rest.indexOf("/");
    if (slash < 0) break;
    rest = rest.slice(slash + 1);
  }
  return rest + tail;
}

/** Which of the names (their indices, from `first` on) breadcrumbs of about `chars` characters show: the last ones. */
export function crumbsShown(names: readonly string[], first: number, chars: number): number[] {
  const shown: number[] = [];
  let left = chars;
  for (let i = names.length - 1; i >= first; i--) {
    left -= names[i]!.length + 3;
    if (left < 0 && shown.length > 0) break;
    shown.unshift(i);
  }
  return shown;
}
