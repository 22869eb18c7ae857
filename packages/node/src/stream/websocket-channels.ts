import { type Clock, systemClock } from "@fjord/base";
import { ChannelSocket } from "@fjord/kube";
import type { WebSocket } from "ws";
import { ChannelStream } from "./channel-stream.ts";

/** Names the channel that ends, in the protocol's fifth version. */
const CLOSE = 255;
const LOOK_MS = 5000;

export interface WebSocketChannels {
  readonly streams: readonly ChannelStream[];
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
  destroy(): void;
}

/** The channels of a client's WebSocket. Whoever gets them must say at once which of them it reads. */
export function openChannels(webSocket: WebSocket, count: number, clock: Clock = systemClock): WebSocketChannels {
  const streams: ChannelStream[] = [];
  const socket = new ChannelSocket(webSocket, {
    clock,
    // A client may leave output unread for long, and answers nothing meanwhile; whether it is still there, TCP knows.
    pingIntervalMs: Number.POSITIVE_INFINITY,
    onFrame(channel, data) {
      if (channel === CLOSE && socket.canCloseChannels) streams[data[0] ?? CLOSE]?.receiveEnd();
      else streams[channel]?.receive(data);
    },
  });
  for (let channel = 0; channel < count; channel++) streams.push(new ChannelStream(socket, channel));
  const stop = watchPaused(webSocket, socket, clock);
  socket.ended.then(stop);
  return {
    streams,
    closed: socket.ended,
    async close() {
      await Promise.race([flushed(webSocket), socket.ended]);
      socket.close();
      await socket.ended;
    },
    destroy: () => socket.terminate(),
  };
}

/** A goodbye is given only so much time, and what a slow client has not taken by then would be lost. */
function flushed(webSocket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    if (webSocket.readyState !== webSocket.OPEN) resolve();
    else webSocket.ping(undefined, undefined, () => resolve());
  });
}

/** Nobody notices that a client has gone while nothing is read, unless something is sent. */
function watchPaused(webSocket: WebSocket, socket: ChannelSocket, clock: Clock): () => void {
  let stop = () => {};
  const look = () => {
    if (socket.isPaused && webSocket.readyState === webSocket.OPEN) webSocket.ping();
    stop = clock.after(LOOK_MS, look);
  };
  stop = clock.after(LOOK_MS, look);
  return () => stop();
}
