import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import type { TarEntry } from "./tar.ts";

/** A program of this machine with the libraries that it is linked with, for an image in which it can run. */
export function linkedProgram(source: string, path: string = source): TarEntry[] {
  const linked = execFileSync("ldd", [source]).toString();
  const libraries = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, library = ""]) => library);
  return [fileEntry(source, path), ...libraries.map((library) => fileEntry(library))];
}

/** A file of this machine, for an image that has it at an absolute path. */
export function fileEntry(source: string, path: string = source): TarEntry {
  return { path: path.slice(1), content: readFileSync(source), mode: statSync(source).mode & 0o777 };
}
