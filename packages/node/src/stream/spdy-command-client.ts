import { onAbort } from "@fjord/base";
import { exitCodeOf } from "@fjord/kube";
import type { SpdyConnection, SpdyStream } from "../spdy/index.ts";
import type { CommandStreams, TerminalSize } from "./command-streams.ts";
import { type DialSpdyOptions, dialSpdy } from "./dial-spdy.ts";
import { StreamCut } from "./errors.ts";
import { finished, pour } from "./pour.ts";

const STATUS_LIMIT = 64 * 1024;

/**
 * Runs a command, or joins a running one, over a server of streams such as a container runtime's: the URL says which.
 * Ends the outputs, and resolves with the exit code once all is written to them. Aborting cuts the connection.
 */
export async function execOverSpdy(
  url: string | URL,
  streams: CommandStreams,
  options: Omit<DialSpdyOptions, "url" | "protocols">,
): Promise<number> {
  const { connection } = await dialSpdy({ ...options, url, protocols: ["v4.channel.k8s.io"] });
  const { signal, action } = options;
  const release = signal && onAbort(signal, () => connection.destroy());
  try {
    const status = await carry(connection, streams);
    signal?.throwIfAborted();
    if (status === "") throw new StreamCut({ action, server: new URL(url).host });
    return exitCodeOf(status, action);
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    release?.();
    connection.destroy();
    streams.stdout?.end();
    streams.stderr?.end();
  }
}

/** Moves bytes until the server has told how it went, and gives its words. */
async function carry(connection: SpdyConnection, streams: CommandStreams): Promise<string> {
  const error = connection.open({ streamtype: "error" });
  error.end();
  const stdin = streams.stdin && connection.open({ streamtype: "stdin" });
  const stdout = streams.stdout && connection.open({ streamtype: "stdout" });
  const stderr = streams.stderr && !streams.tty ? connection.open({ streamtype: "stderr" }) : undefined;
  const resize = streams.tty ? connection.open({ streamtype: "resize" }) : undefined;
  const all = [error, stdin, stdout, stderr, resize].filter((stream) => stream !== undefined);
  const done = new AbortController();
  try {
    const work = [read(error), output(stdout, streams.stdout), output(stderr, streams.stderr)] as const;
    await Promise.all(all.map((stream) => stream.accepted));
    resize?.resume();
    if (resize !== undefined && streams.sizes !== undefined) sendSizes(streams.sizes, resize, done.signal);
    if (stdin !== undefined && streams.stdin !== undefined) {
      stdin.resume();
      streams.stdin.pipe(stdin);
      // A source that was destroyed gives no end.
      streams.stdin.once("close", () => stdin.end());
    }
    const [status] = await Promise.all(work);
    return status;
  } finally {
    done.abort();
    if (stdin !== undefined) streams.stdin?.unpipe(stdin);
  }
}

async function output(stream: SpdyStream | undefined, sink: CommandStreams["stdout"]): Promise<void> {
  if (stream === undefined || sink === undefined) return;
  stream.end();
  // Servers give the stream up when the command has ended: that is no failure.
  await pour(stream, sink);
  sink.end();
  await finished(sink);
}

async function read(stream: SpdyStream): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of stream) {
      size += part.length;
      if (size > STATUS_LIMIT) break;
      parts.push(part);
    }
  } catch {
    // The status is whole or missing: what ended the stream does not matter.
  }
  return Buffer.concat(parts).toString("utf8");
}

async function sendSizes(sizes: AsyncIterable<TerminalSize>, stream: SpdyStream, signal: AbortSignal): Promise<void> {
  const iterator = sizes[Symbol.asyncIterator]();
  const release = onAbort(signal, () => void iterator.return?.());
  for (let next = await iterator.next(); next.done !== true && stream.writable; next = await iterator.next()) {
    stream.write(`${JSON.stringify({ Width: next.value.columns, Height: next.value.rows })}\n`);
  }
  release();
}
