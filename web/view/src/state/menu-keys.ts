/**
 * Which item of a menu a key goes to, from item `at` (-1: none); null: the key is not for that. `texts`: what each item
 * begins with, in each of its columns; a letter or digit goes to the next item that begins with it.
 */
export function menuMove(key: string, at: number, texts: readonly (readonly string[])[]): number | null {
  const count = texts.length;
  if (count === 0) return null;
  switch (key) {
    case "ArrowDown":
      return (at + 1) % count;
    case "ArrowUp":
      return at <= 0 ? count - 1 : at - 1;
    case "Home":
    case "PageUp":
      return 0;
    case "End":
    case "PageDown":
      return count - 1;
  }
  // Other keys have names of several characters; Space presses.
  if ([...key].length !== 1 || key === " ") return null;
  for (let i = 1; i <= count; i++) {
    const next = (Math.max(at, 0) + (at < 0 ? i - 1 : i)) % count;
    if (texts[next]!.some((text) => text.toLowerCase().startsWith(key.toLowerCase()))) return next;
  }
  return null;
}
