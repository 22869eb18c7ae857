/** Values that belong to a log line. Never put a secret here. */
export type LogFields = Record<string, unknown>;

/** What the packages log through. Only a composition root makes one. Messages are constant; what varies goes in fields. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
