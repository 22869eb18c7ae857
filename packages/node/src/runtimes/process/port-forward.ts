import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { describeError } from "@fjord/base";
import { PortForwardRefused } from "./errors.ts";

/** Joins a stream with a port of a pod: on its own address, else on the machine's loopback. */
export async function forwardPort(
  addresses: readonly string[],
  port: number,
  stream: Duplex,
  signal?: AbortSignal,
): Promise<void> {
  const socket = await reach(addresses, port);
  await new Promise<void>((resolve) => {
    const done = () => {
      signal?.removeEventListener("abort", done);
      socket.destroy();
      if (!stream.writableEnded) stream.end();
      resolve();
    };
    signal?.addEventListener("abort", done, { once: true });
    if (signal?.aborted) return done();
    // Who asks may say all they have to say long before the pod has.
    socket.on("error", done).once("close", done);
    stream.on("error", done).once("close", done);
    socket.pipe(stream);
    stream.pipe(socket);
    // Not every protocol can say that one side has ended: a client would wait for the rest of an answer that is whole.
    socket.once("end", done);
  });
}

async function reach(addresses: readonly string[], port: number): Promise<Socket> {
  let reason: unknown = "it has no address";
  for (const host of addresses) {
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const socket = connect({ host, port, allowHalfOpen: true });
        socket.once("connect", () => {
          socket.off("error", reject);
          resolve(socket);
        });
        socket.once("error", reject);
      });
    } catch (error) {
      reason = error;
    }
  }
  throw new PortForwardRefused({ port, reason: describeError(reason) });
}
