import type { Readable, Writable } from "node:stream";
import { onAbort, systemClock } from "@fjord/base";
import type { WebSocket } from "ws";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { ConnectionError } from "../transport/errors.ts";
import { ChannelSocket } from "./channel-socket.ts";
import { OutputClosed, StreamProtocol } from "./errors.ts";
import { exitCodeOf } from "./exit-status.ts";
import { sendInput } from "./input.ts";
import type { StreamOptions } from "./open-socket.ts";
import { Output } from "./output.ts";

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The ends of a command in a pod. Streams that are given are used and left open. */
export interface CommandStreams {
  /** Its end is told to the command, where the server speaks the fifth version of the protocol (Kubernetes 1.30). */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  /** With a terminal, everything comes on `stdout`. */
  readonly stderr?: Writable;
  /** @default false */
  readonly tty?: boolean;
  /** Sizes of the terminal as they change, the first one to begin with. */
  readonly resize?: AsyncIterable<TerminalSize>;
}

export interface CommandResult {
  readonly exitCode: number;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const goodbyeMs = 5_000;
/** A status is a few hundred bytes. */
const statusLimit = 64 * 1024;

/** The part of the query that says which streams there are. The server insists on one. */
export function streamsQuery({ stdin, stdout, stderr, tty = false }: CommandStreams): [string, string][] {
  const errors = stderr !== undefined && !tty;
  const output = stdout !== undefined || (stdin === undefined && !errors);
  const wanted = { stdin: stdin !== undefined, stdout: output, stderr: errors, tty };
  return Object.entries(wanted).flatMap(([name, value]): [string, string][] => (value ? [[name, "true"]] : []));
}

export interface CommandRequest extends CommandStreams, StreamOptions {
  readonly path: string;
  readonly action: string;
}

/** Runs a command over the channel protocol until the server has told how it ended and everything is written. */
export async function runCommand(config: ClusterConfig, request: CommandRequest): Promise<CommandResult> {
  // Loaded here and not before: WebSockets take 15 MB, and few processes open one.
  const { openSocket } = await import("./open-socket.ts");
  const socket = await openSocket(config, { ...request, protocols });
  return new Command(config.server, request).run(socket);
}

class Command {
  readonly #server: string;
  readonly #request: CommandRequest;
  readonly #outputs = new Map<number, Output>();
  readonly #cleanups: (() => void)[] = [];
  readonly #status: Buffer[] = [];
  #statusLength = 0;
  #failure: { readonly reason: unknown } | undefined;

  constructor(server: string, request: CommandRequest) {
    this.#server = server;
    this.#request = request;
  }

  async run(webSocket: WebSocket): Promise<CommandResult> {
    const { clock, pingIntervalMs, signal, stdin, resize, action } = this.#request;
    const socket: ChannelSocket = new ChannelSocket(webSocket, {
      clock,
      pingIntervalMs,
      onFrame: (channel, data) => this.#receive(socket, channel, data, fail),
    });
    const fail = (reason: unknown) => {
      this.#failure ??= { reason };
      socket.terminate();
    };
    try {
      this.#addOutput(channels.stdout, "stdout", fail);
      this.#addOutput(channels.stderr, "stderr", fail);
      if (signal !== undefined) this.#cleanups.push(onAbort(signal, () => fail(signal.reason)));
      if (stdin !== undefined) this.#cleanups.push(sendInput(stdin, socket, channels.stdin, fail));
      if (resize !== undefined) this.#cleanups.push(sendSizes(resize, socket, fail));
      const { problem, cause } = await socket.ended;
      if (this.#failure === undefined) await Promise.all([...this.#outputs.values()].map((output) => output.flush()));
      if (this.#failure !== undefined) throw this.#failure.reason;
      if (this.#statusLength > 0) return { exitCode: exitCodeOf(Buffer.concat(this.#status).toString("utf8"), action) };
      const reason = `${problem ?? "the server closed the stream"} before it told how the command ended`;
      throw new ConnectionError({ action, server: this.#server, reason, cause, sent: true });
    } finally {
      for (const cleanup of this.#cleanups) cleanup();
    }
  }

  #addOutput(channel: number, what: "stdout" | "stderr", fail: (reason: unknown) => void): void {
    const writable = this.#request[what];
    if (writable === undefined) return;
    const output = new Output(writable, (cause) => {
      fail(new OutputClosed({ action: this.#request.action, what }, { cause }));
    });
    this.#outputs.set(channel, output);
    this.#cleanups.push(() => output.release());
  }

  #receive(socket: ChannelSocket, channel: number, data: Buffer, fail: (reason: unknown) => void): void {
    // What is still read from a connection that was given up.
    if (this.#failure !== undefined) return;
    this.#outputs.get(channel)?.write(data, socket);
    if (channel !== channels.error) return;
    if (this.#statusLength === 0) this.#closeLater(socket);
    this.#statusLength += data.length;
    if (this.#statusLength <= statusLimit) this.#status.push(data);
    else {
      const problem = `its word on how the command ended is longer than ${statusLimit} bytes`;
      fail(new StreamProtocol({ action: this.#request.action, server: this.#server, problem }));
    }
  }

  // The server closes when all has been sent; one that forgets to must not keep the caller.
  #closeLater(socket: ChannelSocket): void {
    const stop = (this.#request.clock ?? systemClock).after(goodbyeMs, () => {
      if (socket.isPaused) this.#closeLater(socket);
      else socket.close();
    });
    this.#cleanups.push(stop);
  }
}

function sendSizes(
  sizes: AsyncIterable<TerminalSize>,
  socket: ChannelSocket,
  onFailure: (cause: unknown) => void,
): () => void {
  const iterator = sizes[Symbol.asyncIterator]();
  let released = false;
  const next = async (): Promise<void> => {
    for (let step = await iterator.next(); !step.done && !released; step = await iterator.next()) {
      const size = { Width: step.value.width, Height: step.value.height };
      await socket.send(channels.resize, Buffer.from(JSON.stringify(size)));
    }
  };
  const failed = (error: unknown) => {
    if (!released) onFailure(error);
  };
  next().catch(failed);
  return () => {
    released = true;
    iterator.return?.().catch(failed);
  };
}
