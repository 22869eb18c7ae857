import type { Duplex } from "node:stream";
import { type Clock, describeError, type Logger, systemClock } from "@fjord/base";
import type { WebSocket } from "ws";
import { SpdyConnection, type SpdyStream } from "../spdy/index.ts";
import { portOf } from "./port.ts";
import { finished } from "./pour.ts";
import { DEFAULT_STREAM_TIMEOUT_MS, type StreamServerOptions, spdyOptions } from "./spdy-command-server.ts";
import { openChannels } from "./websocket-channels.ts";

export const portForwardProtocol = "portforward.k8s.io";
/** SPDY inside of a WebSocket. */
export const tunnelProtocol = "SPDY/3.1+portforward.k8s.io";
/** Two channels for each port, over WebSocket. */
export const portForwardChannelProtocol = "v4.channel.k8s.io";

const GOODBYE_MS = 5000;

/** Joins a stream with a port of the pod; resolves when either has ended. */
export type Forward = (port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;

export interface PortForwardOptions extends StreamServerOptions {
  log: Logger;
}

/** Serves the connections that a client opens over SPDY, each a pair of streams, until the client goes. */
export async function servePortForward(
  transport: Duplex,
  forward: Forward,
  options: PortForwardOptions,
): Promise<void> {
  const pairs = new Map<string, { data?: SpdyStream; error?: SpdyStream }>();
  const clock = options.clock ?? systemClock;
  const connection = new SpdyConnection(transport, {
    ...spdyOptions(options),
    role: "server",
    onStream(stream) {
      const { streamtype: type, port } = stream.headers;
      if ((type !== "data" && type !== "error") || portOf(port) === undefined) return stream.refuse();
      const id = requestOf(stream, type);
      const pair = pairs.get(id) ?? {};
      if (pair[type] !== undefined) return stream.refuse();
      if (!pairs.has(id)) dropLater(id);
      pairs.set(id, pair);
      pair[type] = stream;
      stream.accept();
      if (pair.data === undefined || pair.error === undefined) return;
      pairs.delete(id);
      run(pair.data, pair.error, portOf(pair.data.headers.port) ?? 0, forward, options.log, clock);
    },
  });
  /** One stream of a pair alone would stay for ever. */
  const dropLater = (id: string) => {
    const stop = clock.after(options.streamTimeoutMs ?? DEFAULT_STREAM_TIMEOUT_MS, () => {
      const pair = pairs.get(id);
      pairs.delete(id);
      pair?.data?.destroy();
      pair?.error?.destroy();
    });
    connection.closed.then(stop);
  };
  await connection.closed;
}

/** Serves the ports that a client has named, over one pair of channels each, until all have ended. */
export async function servePortForwardChannels(
  webSocket: WebSocket,
  ports: readonly number[],
  forward: Forward,
  options: PortForwardOptions,
): Promise<void> {
  const { streams, close } = openChannels(webSocket, ports.length * 2, options.clock);
  const clock = options.clock ?? systemClock;
  await Promise.all(
    ports.map(async (port, index) => {
      const data = streams[index * 2];
      const error = streams[index * 2 + 1];
      if (data === undefined || error === undefined) return;
      const name = Buffer.from([port & 0xff, port >> 8]);
      data.write(name);
      error.write(name);
      await run(data, error, port, forward, options.log, clock);
    }),
  );
  await close();
}

async function run(
  data: Duplex,
  error: Duplex,
  port: number,
  forward: Forward,
  log: Logger,
  clock: Clock,
): Promise<void> {
  const gone = new AbortController();
  const lost = () => gone.abort(new Error("the client has gone"));
  data.once("close", lost);
  error.resume();
  try {
    await forward(port, data, gone.signal);
    data.end();
    error.end();
  } catch (thrown) {
    if (!gone.signal.aborted) log.info("cannot forward a port", { port, error: describeError(thrown) });
    error.end(`error forwarding port ${port}: ${describeError(thrown)}`);
    await finished(error);
    data.destroy();
  }
  await Promise.all([finished(data), finished(error)]);
  data.resume();
  closeLater([data, error], clock);
}

/** A client that does not close its side must not keep ours. */
function closeLater(streams: readonly Duplex[], clock: Clock): void {
  for (const stream of streams) {
    if (stream.destroyed) continue;
    const stop = clock.after(GOODBYE_MS, () => stream.destroy());
    stream.once("close", stop);
  }
}

/** Clients that name no request open the two streams of a connection one after the other. */
function requestOf(stream: SpdyStream, type: "data" | "error"): string {
  const id = stream.headers.requestid;
  if (id) return `request ${id}`;
  return `stream ${type === "error" ? stream.id : stream.id - 2}`;
}
