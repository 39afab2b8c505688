import type { Module } from "@flamelet/model";
import { LIBRARY_HUES, type Palette } from "./palette.ts";

/** What is asked of the model's Modules. */
export interface ModuleSource {
  of(fn: number): Module;
}

/**
 * Which colour a module has. Own code, event loop and standard library have colours of their own; libraries get hues in
 * the order of their share when they were first seen, and keep them for the session: a colour that changes its meaning
 * while one looks is worse than two libraries that share one.
 */
export class ModuleColours {
  private readonly slots = new Map<string, number>();

  constructor(private readonly modules: ModuleSource) {}

  /** Give the libraries among `fns`, largest share first, their hues. */
  assign(fns: Iterable<number>): void {
    for (const fn of fns) {
      const module = this.modules.of(fn);
      if (module.origin === "library" && !this.slots.has(module.name)) {
        this.slots.set(module.name, this.slots.size % LIBRARY_HUES);
      }
    }
  }

  /** Hue of a library; -1 before it was seen. */
  slot(library: string): number {
    return this.slots.get(library) ?? -1;
  }

  /** CSS colour of a function's frame. */
  fill(fn: number, palette: Palette): string {
    return this.moduleFill(this.modules.of(fn), palette);
  }

  moduleFill(module: Module, palette: Palette): string {
    const token = this.token(module);
    if (token === "own") return palette.own;
    if (token === "loop") return palette.loop;
    if (token === "std") return palette.std;
    return palette.libs[Number(token.slice(4))] ?? palette.std;
  }

  /** Name of the stylesheet's token: "own", "lib-3", "loop", "std". */
  token(module: Module): string {
    switch (module.origin) {
      case "own":
        return "own";
      case "gevent":
        return "loop";
      case "library": {
        if (!this.slots.has(module.name)) this.slots.set(module.name, this.slots.size % LIBRARY_HUES);
        return `lib-${this.slots.get(module.name)}`;
      }
      default:
        return "std";
    }
  }
}
