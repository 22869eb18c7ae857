import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** Undefined where no demo was started in the directory, or none far enough to leave anything. */
export function readRecord(directory: string): DemoRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, FILE), "utf8")) as DemoRecord;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function writeRecord(directory: string, record: DemoRecord): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(join(directory, FILE), JSON.stringify(record));
}
