import type { Logger } from "@fjord/base";
import { Option } from "commander";
import type { Environment } from "../binaries/index.ts";

/** What a command may use of the world around it. */
export interface CommandContext {
  readonly env: Environment;
  /** The user who runs the command; 0 is root. */
  readonly uid: number | undefined;
  /** Run directory when none is named. */
  readonly defaultDirectory: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** A result, on standard output. */
  out(text: string): void;
  /** What goes on, on standard error. */
  progress(text: string): void;
  /** The status to exit with when nothing is thrown. */
  setExitCode(code: number): void;
}

/** Options that every command has. */
export interface CommonOptions {
  directory: string;
}

export type OutputFormat = "table" | "json";

export function outputOption(): Option {
  return new Option("-o, --output <format>", "how to print it").choices(["table", "json"]).default("table");
}
