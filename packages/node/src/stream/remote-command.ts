import { type Duplex, Readable, Writable } from "node:stream";
import { describeError, type Logger } from "@fjord/base";
import { type CommandOutcome, encodeStatus } from "./command-status.ts";
import type { CommandStreams } from "./command-streams.ts";
import { finished } from "./pour.ts";
import { SizeParser, SizeQueue } from "./terminal-sizes.ts";

/** Which streams a client has asked for. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A client's streams, however they travel. */
export interface CommandChannels {
  readonly stdin?: Duplex;
  readonly stdout?: Duplex;
  readonly stderr?: Duplex;
  readonly resize?: Duplex;
  readonly error: Duplex;
}

export interface CommandConnection {
  readonly protocol: string;
  readonly channels: CommandChannels;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<unknown>;
  /** Says goodbye after all that was sent. */
  close(): Promise<void>;
}

/** Runs a command with a client's streams and tells the client how it went. Aborts it when the client goes. */
export async function serveCommand(
  connection: CommandConnection,
  tty: boolean,
  run: (streams: CommandStreams, signal: AbortSignal) => Promise<number>,
  log: Logger,
): Promise<void> {
  const { channels } = connection;
  const gone = new AbortController();
  const lost = () => gone.abort(new Error("the client has gone"));
  connection.closed.then(lost);
  channels.error.once("close", lost);
  // Nothing is to be read there, and the end of it would otherwise not be seen.
  for (const stream of [channels.error, channels.stdout, channels.stderr]) stream?.resume();
  const sizes = channels.resize && sizesOf(channels.resize);
  const streams: CommandStreams = {
    ...(channels.stdin && { stdin: inputOf(channels.stdin) }),
    ...(channels.stdout && { stdout: outputOf(channels.stdout) }),
    ...(channels.stderr && { stderr: outputOf(channels.stderr) }),
    tty,
    ...(sizes && { sizes }),
  };
  const outcome = await outcomeOf(() => run(streams, gone.signal));
  if ("error" in outcome && !gone.signal.aborted)
    log.info("a command could not be run", { error: describeError(outcome.error) });
  sizes?.end();
  streams.stdin?.destroy();
  for (const output of [streams.stdout, streams.stderr]) {
    output?.end();
    if (output !== undefined) await finished(output);
  }
  channels.error.off("close", lost);
  channels.error.end(encodeStatus(outcome, connection.protocol));
  await finished(channels.error);
  await connection.close();
}

async function outcomeOf(run: () => Promise<number>): Promise<CommandOutcome> {
  try {
    return { exitCode: await run() };
  } catch (error) {
    return { error };
  }
}

/** A command's input: it ends when the client goes, as a pipe's would, and may be left unread. */
function inputOf(channel: Duplex): Readable {
  const input = new Readable({
    read: () => void channel.resume(),
    destroy(error, done) {
      channel.off("data", onData);
      // What still comes would otherwise keep back the other streams.
      channel.resume();
      done(error);
    },
  });
  const onData = (data: Buffer) => {
    if (!input.push(data)) channel.pause();
  };
  const onEnd = () => {
    if (!input.destroyed && !input.readableEnded) input.push(null);
    channel.off("end", onEnd).off("close", onEnd);
  };
  channel.on("data", onData).on("end", onEnd).on("close", onEnd);
  channel.pause();
  return input;
}

/** A command's output: what nobody receives any more is thrown away, so that the command can end. */
function outputOf(channel: Duplex): Writable {
  return new Writable({
    write(data, _encoding, done) {
      if (channel.writable) channel.write(data, () => done());
      else done();
    },
    final(done) {
      channel.end();
      finished(channel).then(() => done());
    },
  });
}

function sizesOf(channel: Duplex): SizeQueue {
  const parser = new SizeParser();
  const sizes = new SizeQueue();
  channel.on("data", (data: Buffer) => {
    for (const size of parser.push(data)) sizes.push(size);
  });
  channel.once("close", () => sizes.end());
  return sizes;
}
