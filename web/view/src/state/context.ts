import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Page } from "./page.ts";

export const PageContext = createContext<Page | null>(null);

/**
 * The page, for a component that is rendered again with every tick. Without that a component that reads a signal would be
 * rendered only when a signal or a property changed, and the numbers of the store are neither.
 */
export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error("usePage() outside of <FlameletPage>");
  void page.ticks.value;
  return page;
}
