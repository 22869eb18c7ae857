import { describeError, type ErrorType } from "./errors.ts";
import { lineLogger } from "./line-logger.ts";
import type { Logger } from "./logger.ts";

/** What a program has of its process. */
export interface ProgramProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: { write(text: string): unknown };
  on(signal: "SIGINT" | "SIGTERM", listener: () => void): unknown;
}

/** What a program has of its process at its end. */
export interface EndingProcess extends Pick<ProgramProcess, "stderr"> {
  exit(code: number): never;
}

/** Aborts when the process is asked to stop. */
export function interruption(process: ProgramProcess): AbortController {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => interrupt.abort(new Error("interrupted")));
  return interrupt;
}

/** Logs to standard error; `FJORD_LOG=debug` has it say more. */
export function programLogger({ env, stderr }: Pick<ProgramProcess, "env" | "stderr">): Logger {
  const write = (line: string) => void stderr.write(line);
  return lineLogger({ write, debug: env.FJORD_LOG === "debug", now: () => new Date() });
}

/** What is known of an error, for people and for scripts. */
export interface Failure {
  /** By which docs/reference/errors.md has it. Absent for what is not of the catalogue. */
  readonly code?: string;
  readonly message: string;
  /** What to do about it. */
  readonly advice?: string;
}

export function failureOf(error: unknown): Failure {
  // By what it has, and not by its class: a program in several files has one such class in each.
  const { advice, code } = (error instanceof Error ? error.constructor : {}) as Partial<ErrorType<string>>;
  return {
    ...(code !== undefined && { code }),
    message: describeError(error),
    ...(advice !== undefined && { advice }),
  };
}

/**
 * What a program says of an error that ends it. A mistake or a known failure is a message, advice and its code; only what
 * nobody foresaw shows where it happened.
 */
export function lastWords(error: unknown): string {
  const { code, message, advice } = failureOf(error);
  const coded = [advice, code && `[${code}]`].filter((part) => part !== undefined).join(" ");
  const stack = error instanceof Error && !("syscall" in error) ? error.stack : undefined;
  const more = advice === undefined && stack !== undefined ? stack : coded;
  return `error: ${message}\n${more === "" ? "" : `${more}\n`}`;
}

/** Ends a program by an error at once: what did not stop in its time would else keep it, for as long as another side likes. */
export function endFailed(process: EndingProcess, error: unknown): never {
  process.stderr.write(lastWords(error));
  return process.exit(1);
}
