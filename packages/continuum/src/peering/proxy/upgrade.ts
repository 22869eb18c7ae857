import type { ClientRequest, IncomingMessage } from "node:http";
import { type Duplex, pipeline } from "node:stream";
import { reasonPhrase } from "../server/answers.ts";
import { answerHeaders } from "./headers.ts";

/** Joins a consumer's connection with the API server's, byte by byte; gives the status when that has begun. */
export function joinUpgrade(upstream: ClientRequest, socket: Duplex, head: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    upstream.on("error", reject);
    upstream.on("upgrade", (answer, far, farHead) => {
      socket.write(headOf(answer));
      if (farHead.length > 0) socket.write(farHead);
      if (head.length > 0) far.write(head);
      // Either one that goes takes the other with it; an error is followed by a close. An end in order is passed on by the
      // pipe, behind what is still to be sent: to destroy the connection then would lose that. Nobody reads it any more
      // from then on, and the consumer's own end would never be seen.
      far
        .on("error", () => {})
        .once("close", () => {
          if (far.readableEnded) socket.resume();
          else socket.destroy();
        });
      socket.once("close", () => far.destroy());
      socket.pipe(far).pipe(socket);
      resolve(101);
    });
    upstream.on("response", (answer) => {
      socket.write(headOf(answer, { connection: "close" }));
      pipeline(answer, socket, () => socket.destroy());
      resolve(answer.statusCode ?? 502);
    });
  });
}

function headOf(answer: IncomingMessage, more: Record<string, string> = {}): string {
  const status = answer.statusCode ?? 502;
  const headers = { ...answerHeaders(answer.headers, status === 101 ? "upgrade" : "plain"), ...more };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return `${[`HTTP/1.1 ${status} ${reasonPhrase(status)}`, ...lines].join("\r\n")}\r\n\r\n`;
}
