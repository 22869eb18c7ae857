import { describeError, type ErrorType } from "./errors.ts";
import { lineLogger } from "./line-logger.ts";
import type { Logger } from "./logger.ts";

/** What a program has of its process. */
export interface ProgramProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: { write(text: string): unknown };
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/** Aborts when the process is asked to stop. */
export function interruption(process: ProgramProcess): AbortController {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => interrupt.abort(new Error("interrupted")));
  return interrupt;
}

/** Logs to standard error; `FJORD_LOG=debug` has it say more. */
export function programLogger({ env, stderr }: ProgramProcess): Logger {
  const write = (line: string) => void stderr.write(line);
  return lineLogger({ write, debug: env.FJORD_LOG === "debug", now: () => new Date() });
}

/**
 * What a program says of an error that ends it. A mistake or a known failure is a message and advice; only what nobody
 * foresaw shows where it happened.
 */
export function lastWords(error: unknown): string {
  // By what it has, and not by its class: a program in several files has one such class in each.
  const { advice } = (error instanceof Error ? error.constructor : {}) as Partial<ErrorType<string>>;
  const more = advice ?? (error instanceof Error && !("syscall" in error) ? error.stack : undefined);
  return `error: ${describeError(error)}\n${more === undefined ? "" : `${more}\n`}`;
}
