import { Duplex } from "node:stream";
import { type Clock, onAbort, systemClock } from "@fjord/base";
import type { WebSocket } from "ws";
import { describeTarget, objectPath } from "../client/resource-path.ts";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { ConnectionError } from "../transport/errors.ts";
import { ChannelSocket } from "./channel-socket.ts";
import { PortForwardFailed, StreamProtocol } from "./errors.ts";
import type { StreamOptions } from "./open-socket.ts";

const pods = { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true } as const;
const channels = { data: 0, error: 1 } as const;
/** The words of an error are a line or two. */
const errorLimit = 64 * 1024;

export interface PortForwardOptions extends StreamOptions {
  /** @default the configuration's */
  readonly namespace?: string;
  readonly pod: string;
  readonly port: number;
  /** How long the pod may stay silent once our side has ended, which the protocol cannot tell it. @default 30000 */
  readonly lingerMs?: number;
}

/** One connection to a port of a pod. Throws `ApiError` where the server refuses; later failures destroy the stream. */
export async function portForward(config: ClusterConfig, options: PortForwardOptions): Promise<Duplex> {
  const { port } = options;
  const key = { namespace: options.namespace ?? config.namespace, name: options.pod };
  const action = `forward to port ${port} of ${describeTarget(pods, key)}`;
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new PortForwardFailed({ action, reason: "a port is a whole number from 1 to 65535" });
  }
  const path = `${objectPath(pods, key, "portforward")}?ports=${port}`;
  const { openSocket } = await import("./open-socket.ts");
  const socket = await openSocket(config, { ...options, path, action, protocols: ["v4.channel.k8s.io"] });
  return new ForwardedConnection(socket, { ...options, action, server: config.server });
}

interface ConnectionOptions extends PortForwardOptions {
  readonly action: string;
  readonly server: string;
}

class ForwardedConnection extends Duplex {
  readonly #options: ConnectionOptions;
  readonly #socket: ChannelSocket;
  readonly #clock: Clock;
  readonly #stopListening: () => void;
  /** What is left of the port number that begins each channel. */
  readonly #preludes: [Buffer, Buffer] = [Buffer.alloc(0), Buffer.alloc(0)];
  readonly #error: Buffer[] = [];
  #errorLength = 0;
  #resume: (() => void) | undefined;
  #stopLinger: () => void = () => {};

  constructor(webSocket: WebSocket, options: ConnectionOptions) {
    super({ allowHalfOpen: true });
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#socket = new ChannelSocket(webSocket, {
      clock: options.clock,
      pingIntervalMs: options.pingIntervalMs,
      onFrame: (channel, data) => this.#receive(channel, data),
    });
    const { signal } = options;
    this.#stopListening = signal === undefined ? () => {} : onAbort(signal, () => this.destroy(signal.reason));
    this.#socket.ended.then(({ problem, cause }) => this.#ended(problem, cause));
  }

  override _read(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.send(channels.data, chunk).then(() => done(), done);
  }

  // The protocol has no half-close: the answer to what was sent may still be on its way.
  override _final(done: (error?: Error | null) => void): void {
    this.#linger();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#stopListening();
    this.#stopLinger();
    if (error === null) this.#socket.close();
    else this.#socket.terminate();
    this.#resume?.();
    done(error);
  }

  #linger(): void {
    this.#stopLinger();
    this.#stopLinger = this.#clock.after(this.#options.lingerMs ?? 30_000, () => {
      if (this.#socket.isPaused) this.#linger();
      else this.#socket.close();
    });
  }

  #receive(channel: number, frame: Buffer): void {
    if (channel !== channels.data && channel !== channels.error) return;
    const data = this.#afterPrelude(channel, frame);
    if (data.length === 0 || this.destroyed) return;
    if (channel === channels.error) this.#takeError(data);
    else {
      if (this.writableEnded) this.#linger();
      if (!this.push(data)) this.#resume ??= this.#socket.pause();
    }
  }

  #takeError(data: Buffer): void {
    const kept = data.subarray(0, errorLimit - this.#errorLength);
    this.#error.push(kept);
    this.#errorLength += kept.length;
    if (kept.length < data.length) this.destroy(this.#failure());
  }

  #failure(): Error {
    const reason = Buffer.concat(this.#error).toString("utf8").trim();
    return new PortForwardFailed({ action: this.#options.action, reason });
  }

  #afterPrelude(channel: 0 | 1, frame: Buffer): Buffer {
    const missing = 2 - this.#preludes[channel].length;
    if (missing === 0) return frame;
    const prelude = Buffer.concat([this.#preludes[channel], frame.subarray(0, missing)]);
    this.#preludes[channel] = prelude;
    if (prelude.length === 2 && prelude.readUInt16LE() !== this.#options.port) {
      const { action, server } = this.#options;
      this.destroy(
        new StreamProtocol({ action, server, problem: `the server forwards port ${prelude.readUInt16LE()}` }),
      );
    }
    return frame.subarray(missing);
  }

  #ended(problem: string | undefined, cause: Error | undefined): void {
    if (this.destroyed) return;
    const { action, server } = this.#options;
    if (this.#errorLength > 0) this.destroy(this.#failure());
    else if (problem !== undefined)
      this.destroy(new ConnectionError({ action, server, reason: problem, cause, sent: true }));
    else {
      this.push(null);
      // Nobody is left to write to.
      if (!this.writableEnded) this.end();
    }
  }
}
