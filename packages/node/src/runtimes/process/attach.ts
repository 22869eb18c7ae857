import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import type { LogStream } from "../../logs/cri-log.ts";
import type { CommandStreams } from "../../stream/command-streams.ts";
import { finished, pour } from "../../stream/pour.ts";
import { ifThere, readText } from "./files.ts";
import type { ProcessContainer } from "./process-container.ts";
import { readStat } from "./process-table.ts";
import { followSizes, terminalOf } from "./terminal.ts";

const CHUNK = 64 * 1024;

/** Joins streams with a running container: output from now on, and its input where it has one. */
export async function attachTo(
  container: ProcessContainer,
  streams: CommandStreams,
  signal?: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const stop = () => over.abort();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const input = streams.stdin && container.record.stdin ? openInput(container) : undefined;
  try {
    const outputs = [
      ...(streams.stdout ? [follow(container, "stdout", streams.stdout, over.signal)] : []),
      ...(streams.stderr && !container.record.tty ? [follow(container, "stderr", streams.stderr, over.signal)] : []),
    ];
    if (streams.tty && streams.sizes) {
      const main = container.main();
      const device = main ? readStat(main.pid)?.terminal : undefined;
      void followSizes(terminalOf(device ?? 0), streams.sizes, over.signal);
    }
    if (input && streams.stdin) {
      void pour(streams.stdin, input).then(() => {
        input.end();
        if (container.record.stdinOnce && !over.signal.aborted) endInput(container);
      });
    }
    await (outputs.length > 0 ? Promise.all(outputs) : container.over(over.signal));
  } finally {
    signal?.removeEventListener("abort", stop);
    over.abort();
    input?.destroy();
    const sinks = [streams.stdout, streams.stderr].filter((sink) => sink !== undefined);
    for (const sink of sinks) sink.end();
    await Promise.all(sinks.map(finished));
  }
}

/** Copies what a raw file gets from now on, until the container has ended and all is copied. */
async function follow(
  container: ProcessContainer,
  stream: LogStream,
  sink: Writable,
  signal: AbortSignal,
): Promise<void> {
  const descriptor = ifThere(() => openSync(join(container.directory, `${stream}.raw`), "r"));
  if (descriptor === undefined) return;
  const reader = container.addReader(stream, fstatSync(descriptor).size);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const ended = container.isOver();
      const count = readSync(descriptor, buffer, 0, CHUNK, reader.offset);
      if (count > 0) {
        reader.offset += count;
        if (!sink.writable) return;
        if (!sink.write(Buffer.from(buffer.subarray(0, count)))) await drained(sink, signal);
      } else if (ended) return;
      else await container.output(signal);
      if (signal.aborted) return;
    }
  } finally {
    reader.close();
    closeSync(descriptor);
  }
}

function openInput(container: ProcessContainer): Socket | undefined {
  const path = join(container.directory, "stdin");
  // Not to be blocked by a program that has not opened it, nor to open it where there is none.
  const descriptor = ifThere(() => openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  if (descriptor === undefined) return undefined;
  const socket = new Socket({ fd: descriptor, readable: false, writable: true });
  // The program may close its input at any time.
  socket.on("error", () => {});
  return socket;
}

/** Lets the program read the end of its input: the process that holds it open ends. */
function endInput(container: ProcessContainer): void {
  const pid = Number(readText(join(container.directory, "stdin.holder")));
  if (pid > 0 && container.owns(pid)) process.kill(pid, "SIGKILL");
}

function drained(sink: Writable, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const events = ["drain", "close", "error"];
    const done = () => {
      for (const event of events) sink.off(event, done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    for (const event of events) sink.on(event, done);
    signal.addEventListener("abort", done, { once: true });
    if (sink.destroyed || signal.aborted) done();
  });
}
