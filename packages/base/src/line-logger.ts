import type { LogFields, Logger } from "./logger.ts";

export interface LineLoggerOptions {
  write(line: string): void;
  /** Whether what is only of use to whoever looks for a fault is said too. */
  readonly debug: boolean;
  now(): Date;
}

/** What JSON leaves as it is and a terminal obeys, or shows in another order than it has. */
const STEERING = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Writes what is logged for people: a line each, with its time, its level and its fields. */
export function lineLogger({ write, debug, now }: LineLoggerOptions): Logger {
  const say = (level: string, message: string, fields: LogFields = {}) => {
    const values = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    write(`${now().toISOString()} ${level} ${message}${values.join("").replace(STEERING, spelt)}\n`);
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

/** As JSON has it. */
function spelt(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
