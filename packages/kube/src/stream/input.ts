import type { Readable } from "node:stream";
import type { ChannelSocket } from "./channel-socket.ts";

/**
 * Sends what a stream gives, no faster than the other side takes it, and its end. The function returned lets go of the
 * stream and leaves it paused: it is not ours to destroy.
 */
export function sendInput(
  readable: Readable,
  socket: ChannelSocket,
  channel: number,
  onFailure: (cause: Error) => void,
): () => void {
  // A stream may end while its last chunk is still being sent.
  let sending = Promise.resolve();
  const onData = (chunk: Buffer | string) => {
    readable.pause();
    sending = socket.send(channel, typeof chunk === "string" ? Buffer.from(chunk) : chunk).then(() => {
      // Input that is always at hand must leave the loop time for everything else.
      setImmediate(() => released || readable.resume());
    }, onFailure);
  };
  const onEnd = () => {
    sending.then(() => socket.endChannel(channel));
  };
  const onClose = () => {
    if (!readable.readableEnded) onFailure(new Error("the input was closed before its end"));
  };
  let released = false;
  if (readable.readableEnded) onEnd();
  else {
    readable.on("data", onData);
    readable.on("end", onEnd);
    readable.on("error", onFailure);
    readable.on("close", onClose);
  }
  return () => {
    if (released) return;
    released = true;
    readable.off("data", onData);
    readable.off("end", onEnd);
    readable.off("error", onFailure);
    readable.off("close", onClose);
    readable.pause();
  };
}
