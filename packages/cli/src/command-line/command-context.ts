import type { Clock, Logger, Random } from "@fjord/base";

/** Colours that mean something; none where what is printed is no terminal's. */
export type Style = "bold" | "dim" | "green" | "yellow" | "red";

/** What a command has of the process that it runs in. */
export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Aborts when the program is asked to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What the command was asked for. */
  print(text: string): void;
  /** What else is worth knowing, such as progress; nothing with `-q`. */
  note(text: string): void;
  /** What has to be known though nobody asked for it, also with `-q`. */
  warn(text: string): void;
  /** Colours what is printed, where a terminal shows it and NO_COLOR does not forbid it. */
  paint(style: Style, text: string): string;
  readonly isTerminal: boolean;
  /** What the process is to end with where that is no error of ours, such as another program's. */
  setExitCode(code: number): void;
}
