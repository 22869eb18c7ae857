import type { Clock } from "@fjord/base";
import type { WebSocket } from "ws";
import type { CommandConnection, WantedStreams } from "./remote-command.ts";
import { openChannels } from "./websocket-channels.ts";

/** Versions that are spoken over WebSocket, the best one first. */
export const webSocketCommandProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io", "channel.k8s.io"];

/** The channels of a client's command; unlike SPDY's streams they are all there from the beginning. */
export function acceptWebSocketCommand(webSocket: WebSocket, wanted: WantedStreams, clock?: Clock): CommandConnection {
  const { streams, closed, close } = openChannels(webSocket, 5, clock);
  const [stdin, stdout, stderr, error, resize] = streams;
  if (error === undefined) throw new Error("no error channel");
  // What comes on channels that were not asked for is read and forgotten.
  for (const stream of streams) stream.resume();
  const first = wanted.stdout ? 1 : wanted.stderr ? 2 : 3;
  webSocket.send(Uint8Array.of(first));
  return {
    protocol: webSocket.protocol,
    channels: {
      error,
      ...(wanted.stdin && stdin && { stdin }),
      ...(wanted.stdout && stdout && { stdout }),
      ...(wanted.stderr && !wanted.tty && stderr && { stderr }),
      ...(wanted.tty && resize && { resize }),
    },
    closed,
    close,
  };
}
