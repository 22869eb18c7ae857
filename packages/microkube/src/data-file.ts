import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** Where a file of the package's data is: above the sources, and in what is shipped beside the program. */
export function dataFile(name: string): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const path = join(folder, "data", name);
    if (existsSync(path)) return path;
    if (dirname(folder) === folder)
      throw new Error(`microkube's file data/${name} is not above ${import.meta.dirname}`);
  }
}
