import type { Duplex } from "node:stream";
import { type Clock, systemClock } from "@fjord/base";
import { SpdyConnection, type SpdyOptions, type SpdyStream } from "../spdy/index.ts";
import { StreamsMissing } from "./errors.ts";
import type { CommandChannels, CommandConnection, WantedStreams } from "./remote-command.ts";

/** Versions that are spoken over SPDY, the best one first. The last is for clients that name none. */
export const spdyCommandProtocols = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];

export interface StreamServerOptions {
  /** How long a client may take to open its streams. @default 30000 */
  streamTimeoutMs?: number;
  /** How long nothing may happen. @default four hours */
  idleTimeoutMs?: number;
  clock?: Clock;
}

export const DEFAULT_STREAM_TIMEOUT_MS = 30_000;
export const DEFAULT_IDLE_TIMEOUT_MS = 4 * 3_600_000;

type Name = keyof CommandChannels;

/** Takes the streams that a client opens for a command; throws, and cuts the connection, where it does not. */
export async function acceptSpdyCommand(
  transport: Duplex,
  protocol: string,
  wanted: WantedStreams,
  options: StreamServerOptions = {},
): Promise<CommandConnection> {
  const expected = expectedStreams(wanted, protocol);
  const opened = new Map<Name, SpdyStream>();
  const complete = Promise.withResolvers<void>();
  const connection = new SpdyConnection(transport, {
    ...spdyOptions(options),
    role: "server",
    onStream(stream) {
      const name = stream.headers.streamtype as Name;
      if (!expected.has(name) || opened.has(name)) return stream.refuse();
      stream.accept();
      opened.set(name, stream);
      if (opened.size === expected.size) complete.resolve();
    },
  });
  const missing = () => {
    const names = [...expected].filter((name) => !opened.has(name)).join(", ");
    complete.reject(new StreamsMissing({ missing: names }));
  };
  connection.closed.then(missing);
  const stop = (options.clock ?? systemClock).after(options.streamTimeoutMs ?? DEFAULT_STREAM_TIMEOUT_MS, missing);
  try {
    await complete.promise;
  } catch (error) {
    connection.destroy();
    throw error;
  } finally {
    stop();
  }
  return {
    protocol,
    channels: Object.fromEntries(opened) as unknown as CommandChannels,
    closed: connection.closed,
    close: () => connection.close(),
  };
}

export function spdyOptions(options: StreamServerOptions): Omit<SpdyOptions, "role"> {
  const { clock, idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
  return { idleTimeoutMs, ...(clock && { clock }) };
}

function expectedStreams({ stdin, stdout, stderr, tty }: WantedStreams, protocol: string): Set<Name> {
  const resize = tty && /^v[34]\./.test(protocol);
  const all: Record<Name, boolean> = { error: true, stdin, stdout, stderr: stderr && !tty, resize };
  return new Set((Object.keys(all) as Name[]).filter((name) => all[name]));
}
