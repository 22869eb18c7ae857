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
      // Each direction that ends takes both connections with it.
      const end = () => {
        far.destroy();
        socket.destroy();
      };
      pipeline(socket, far, end);
      pipeline(far, socket, end);
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
