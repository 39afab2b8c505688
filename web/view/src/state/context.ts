import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Page } from "./page.ts";

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error("usePage() outside of <FlameletPage>");
  return page;
}
