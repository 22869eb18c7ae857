import { type Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { onAbort } from "@fjord/base";
import { type SpdyConnection, SpdyConnectionClosed, type SpdyStream, SpdyStreamReset } from "../../../spdy/index.ts";
import type { CommandStreams, TerminalSize } from "../../../stream/command-streams.ts";
import { type CommandResult, commandResult } from "./command-result.ts";

export const COMMAND_PROTOCOL = "v4.channel.k8s.io";

/** Which streams are asked for; one at least, or the runtime refuses. */
export function wantedStreams(streams: CommandStreams): { stdin: boolean; stdout: boolean; stderr: boolean } {
  const stdin = streams.stdin !== undefined;
  const stderr = streams.stderr !== undefined && !streams.tty;
  return { stdin, stderr, stdout: streams.stdout !== undefined || !(stdin || stderr) };
}

/**
 * Joins a command's streams with those of a connection, in protocol v4, until the command has ended and all of its
 * output is written.
 */
export async function joinCommand(connection: SpdyConnection, streams: CommandStreams): Promise<CommandResult> {
  const wanted = wantedStreams(streams);
  const open = (streamtype: string) => connection.open({ streamtype });
  const ended = new AbortController();
  try {
    const result = status(open("error"));
    const input = wanted.stdin ? open("stdin") : undefined;
    const output = wanted.stdout ? open("stdout") : undefined;
    const errors = wanted.stderr ? open("stderr") : undefined;
    const resize = streams.tty ? open("resize") : undefined;
    if (resize !== undefined) sendSizes(resize, streams.sizes, ended.signal);
    if (input !== undefined && streams.stdin !== undefined) sendInput(input, streams.stdin, ended.signal);
    const [text] = await Promise.all([result, take(output, streams.stdout), take(errors, streams.stderr)]);
    return commandResult(text);
  } finally {
    ended.abort();
    connection.destroy();
  }
}

/** Everything that comes, and then the end; what nobody takes is read all the same, so that the command goes on. */
async function take(from: SpdyStream | undefined, to: Writable | undefined): Promise<void> {
  from?.end();
  if (from === undefined) to?.end();
  else await pipeline(pieces(from), to ?? new Writable({ write: (_piece, _encoding, done) => done() }));
}

/**
 * What a stream brings. The runtime's server gives up all streams when it is done, without ending them first: that the
 * command has ended is told by the error stream alone.
 */
async function* pieces(stream: SpdyStream): AsyncIterable<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>;
  } catch (error) {
    if (!(error instanceof SpdyStreamReset) && !(error instanceof SpdyConnectionClosed)) throw error;
  }
}

/** A command that ends without having read its input is no failure: what is left of it is nobody's. */
function sendInput(to: SpdyStream, from: Readable, ended: AbortSignal): void {
  const stop = () => {
    from.unpipe(to);
    to.destroy();
  };
  from.once("error", stop);
  onAbort(ended, stop);
  to.resume();
  from.pipe(to);
}

async function sendSizes(to: SpdyStream, sizes: AsyncIterable<TerminalSize> | undefined, ended: AbortSignal) {
  to.resume();
  if (sizes === undefined) return;
  const iterator = sizes[Symbol.asyncIterator]();
  onAbort(ended, () => void iterator.return?.()?.catch(() => {}));
  try {
    for (let next = await iterator.next(); !next.done && !ended.aborted; next = await iterator.next()) {
      to.write(`${JSON.stringify({ Width: next.value.columns, Height: next.value.rows })}\n`);
    }
  } catch {
    // The terminal has gone, and its size with it; the command ends by its own streams.
  }
}

/** How the command has ended, in the server's words; it always has some. */
async function status(stream: SpdyStream): Promise<string> {
  stream.end();
  const all: Buffer[] = [];
  for await (const piece of pieces(stream)) all.push(piece);
  const text = Buffer.concat(all).toString("utf8");
  if (text === "" && stream.errored) throw stream.errored;
  return text;
}
