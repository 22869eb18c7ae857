import type { Logger } from "@fjord/base";

/** For the many watches of a node: an outage is told once, by whoever follows the pods. */
export function quietLogger(logger: Logger): Logger {
  return {
    debug: (message, fields) => logger.debug(message, fields),
    info: (message, fields) => logger.info(message, fields),
    warn: (message, fields) => logger.debug(message, fields),
    error: (message, fields) => logger.error(message, fields),
  };
}
