import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "@fjord/base";
import type { ProcessIdentity } from "../process-identity.ts";
import { DemoDirectoryRefused } from "./errors.ts";
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
    throw refusal(directory, error);
  }
}

/** Of two demos that begin in one directory at the same moment one writes its record; the other is given that. */
export function writeRecord(directory: string, record: DemoRecord): DemoRecord | undefined {
  const file = join(directory, FILE);
  const written = `${file}.${process.pid}`;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(written, JSON.stringify(record));
  } catch (error) {
    throw refusal(directory, error);
  }
  try {
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

/** What the system has against a directory is the reader's to mend, by another one. */
function refusal(directory: string, cause: unknown): Error {
  return new DemoDirectoryRefused({ directory, reason: describeError(cause) }, { cause });
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
