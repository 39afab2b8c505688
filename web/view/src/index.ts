// What an application needs to show a flamelet page: make a Page, feed its store, render FlameletPage.
export { FlameletPage } from "./frame/flamelet-page.tsx";
export { type Connection, type Host, Page, type Theme } from "./state/page.ts";
