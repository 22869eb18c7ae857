import type { Readable, Writable } from "node:stream";

/** The streams of a command, however they travel. Whoever runs the command ends the outputs when it has ended. */
export interface CommandStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  /** Absent with a terminal: all output comes by `stdout`. */
  readonly stderr?: Writable;
  readonly tty: boolean;
  /** Sizes of the terminal, as they change. */
  readonly sizes?: AsyncIterable<TerminalSize>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}
