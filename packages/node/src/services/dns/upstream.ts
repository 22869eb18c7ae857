import { createSocket } from "node:dgram";
import { createConnection, isIPv6 } from "node:net";
import type { Clock } from "@fjord/base";

const ANSWER_MS = 3_000;

/** Asks another server, the way that we were asked; undefined where no answer comes in time. */
export function forward(
  message: Buffer,
  id: number,
  upstream: string,
  over: "udp" | "tcp",
  clock: Clock,
): Promise<Buffer | undefined> {
  const { host, port } = placeOf(upstream);
  return new Promise((resolve) => {
    const ask = over === "udp" ? askUdp : askTcp;
    const close = ask(host, port, message, (answer) => {
      // An answer to something else may be a forgery.
      if (answer !== undefined && (answer.length < 12 || answer.readUInt16BE(0) !== id)) return;
      cancel();
      close();
      resolve(answer);
    });
    const cancel = clock.after(ANSWER_MS, () => {
      close();
      resolve(undefined);
    });
  });
}

function placeOf(upstream: string): { host: string; port: number } {
  if (isIPv6(upstream)) return { host: upstream, port: 53 };
  const colon = upstream.lastIndexOf(":");
  if (colon < 0) return { host: upstream, port: 53 };
  return { host: upstream.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(upstream.slice(colon + 1)) };
}

type Answered = (answer: Buffer | undefined) => void;

function askUdp(host: string, port: number, message: Buffer, answered: Answered): () => void {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  let isOpen = true;
  socket.on("error", () => answered(undefined));
  socket.on("message", answered);
  socket.connect(port, host, () => {
    if (isOpen) socket.send(message);
  });
  return () => {
    if (isOpen) socket.close();
    isOpen = false;
  };
}

function askTcp(host: string, port: number, message: Buffer, answered: Answered): () => void {
  const socket = createConnection({ host, port });
  let buffered = Buffer.alloc(0);
  socket.on("error", () => answered(undefined));
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    if (buffered.length >= 2 && buffered.length >= 2 + buffered.readUInt16BE(0)) {
      answered(Buffer.from(buffered.subarray(2, 2 + buffered.readUInt16BE(0))));
    }
  });
  const head = Buffer.alloc(2);
  head.writeUInt16BE(message.length);
  socket.write(Buffer.concat([head, message]));
  return () => socket.destroy();
}
