import type { LogFields, Logger } from "./logger.ts";

export interface LineLoggerOptions {
  write(line: string): void;
  /** Whether what is only of use to whoever looks for a fault is said too. */
  readonly debug: boolean;
  now(): Date;
}

/** Writes what is logged for people: a line each, with its time, its level and its fields. */
export function lineLogger({ write, debug, now }: LineLoggerOptions): Logger {
  const say = (level: string, message: string, fields: LogFields = {}) => {
    const values = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    write(`${now().toISOString()} ${level} ${message}${values.join("")}\n`);
  };
  return {
    debug: (message, fields) => {
      if (debug) say("debug", message, fields);
    },
    info: (message, fields) => say("info ", message, fields),
    warn: (message, fields) => say("warn ", message, fields),
    error: (message, fields) => say("error", message, fields),
  };
}
