import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../process-identity.ts";
import type { SubstrateName } from "./substrate.ts";

/** Who runs the demo, and where: for the next one, and for the command `demo`. */
export interface DemoRecord {
  readonly owner: ProcessIdentity | undefined;
  readonly berth: number;
  readonly substrate: SubstrateName;
  /** Where the demo takes wishes. */
  readonly control: string;
}

const FILE = "demo.json";

/** Undefined where no demo was started in the directory, or nobody can tell any more which. */
export function readRecord(directory: string): DemoRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, FILE), "utf8")) as DemoRecord;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Of two demos that begin in one directory at the same moment one writes its record; the other is given that. */
export function writeRecord(directory: string, record: DemoRecord): DemoRecord | undefined {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, FILE);
  const written = `${file}.${process.pid}`;
  try {
    writeFileSync(written, JSON.stringify(record));
    for (;;) {
      // Whole or not at all, and never in the place of another.
      if (isLinked(written, file)) return undefined;
      const other = readRecord(directory);
      if (other !== undefined) return other;
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(written, { force: true });
  }
}

function isLinked(file: string, place: string): boolean {
  try {
    linkSync(file, place);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
