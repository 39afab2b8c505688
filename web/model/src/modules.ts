import { FunctionKind } from "@flamelet/protocol";
import type { Store } from "./store.ts";

/** Where code comes from: the program itself, what it installed, the greenlet libraries, Python, C without a file. */
export type Origin = "own" | "library" | "gevent" | "stdlib" | "builtin";

export interface Module {
  /** "shop", "flask", "gevent", "stdlib". */
  name: string;
  origin: Origin;
}

interface FileInfo extends Module {
  /** "flask/app.py", "shop/report.py": without the folders that say nothing. */
  short: string;
}

const GREENLETS = new Set(["gevent", "eventlet", "greenlet"]);
const STDLIB: Module = { name: "stdlib", origin: "stdlib" };

function libraryFile(path: string): FileInfo {
  const first = path.split("/")[0]!;
  const name = first.replace(/\.(py|so|pyd)$|\.cpython-.*$/g, "");
  return { name, origin: GREENLETS.has(name) ? "gevent" : "library", short: path };
}

/** What a file's path says. Works on paths of the program's machine, which need not be this one's kind. */
export function describeFile(file: string): FileInfo {
  const path = file.replace(/\\/g, "/");
  if (path === "") return { name: "builtin", origin: "builtin", short: "" };
  if (path.startsWith("<frozen ")) return { ...STDLIB, short: path };
  if (path.startsWith("<")) return { name: path, origin: "own", short: path };
  const installed = /^.*\/(?:site|dist)-packages\/(.+)$/.exec(path)?.[1];
  if (installed !== undefined) return libraryFile(installed);
  const standard = /^.*\/(?:lib(?:64)?\/python3\.\d+t?|Lib|python3\d+\.zip)\/(.+)$/.exec(path)?.[1];
  if (standard !== undefined) return { ...STDLIB, short: standard };
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const folder = parts.length > 1 ? parts[parts.length - 2]! : "";
  return {
    name: folder || parts[0]!.replace(/\.py$/, ""),
    origin: "own",
    short: parts.slice(-2).join("/"),
  };
}

/** To which module each function belongs. Answers are kept until the store forgets its names. */
export class Modules {
  private files = new Map<number, FileInfo>();
  private generation = -1;

  constructor(private readonly store: Store) {}

  of(fn: number): Module {
    if (this.store.functions.kind[fn] === FunctionKind.c && this.store.functions.fileOf(fn) === "") {
      return { name: "builtin", origin: "builtin" };
    }
    return this.info(fn);
  }

  /** The file as one wants to read it, "flask/app.py"; "" for a function without one. */
  shortFile(fn: number): string {
    return this.info(fn).short;
  }

  /** "flask/app.py:1478". */
  shortPlace(fn: number): string {
    const line = this.store.functions.line[fn] ?? 0;
    const file = this.shortFile(fn);
    return line > 0 && file !== "" ? `${file}:${line}` : file;
  }

  private info(fn: number): FileInfo {
    const { store } = this;
    if (store.generation !== this.generation) {
      this.files = new Map();
      this.generation = store.generation;
    }
    const file = store.functions.file[fn] ?? 0;
    let info = this.files.get(file);
    if (info === undefined) {
      info = describeFile(store.strings.get(file));
      this.files.set(file, info);
    }
    return info;
  }
}
