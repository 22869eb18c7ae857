import type { Clock, Logger, Random } from "@fjord/base";

/** What a command has of the process that it runs in. */
export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Aborts when the program is asked to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  print(text: string): void;
}
