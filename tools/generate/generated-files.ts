// What differs between the generated files on disk and what the generators give, and how to mend it.
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface GeneratedFile {
  /** Path from the root of the repository. */
  path: string;
  text: string;
}

export interface Staleness {
  changed: GeneratedFile[];
  /** Files in a directory of generated files that no generator writes any more. */
  leftovers: string[];
}

export function findStale(root: string, files: readonly GeneratedFile[], directories: readonly string[]): Staleness {
  const written = new Set(files.map(({ path }) => path));
  return {
    changed: files.filter(({ path, text }) => {
      const file = join(root, path);
      return !existsSync(file) || readFileSync(file, "utf8") !== text;
    }),
    leftovers: directories
      .flatMap((directory) => globSync(`${directory}/*`, { cwd: root }))
      .filter((path) => !written.has(path))
      .sort(),
  };
}

export function mend(root: string, { changed, leftovers }: Staleness): void {
  for (const { path, text } of changed) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  for (const path of leftovers) rmSync(join(root, path));
}
