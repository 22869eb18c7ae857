import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "@fjord/base";
import { PeerRefused } from "../../peer-refused-error.ts";
import { checkRefusal } from "../remote/report-check.ts";

export interface UpgradeQuestion {
  readonly host: string;
  readonly path: string;
  /** What is spoken from then on. */
  readonly protocol: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** More of a refusal is not read. */
const LONGEST_REFUSAL = 16 * 1024;

/** Has the other end of a connection speak another protocol over it. Where it does not, the connection is ended. */
export function askUpgrade(socket: Duplex, question: UpgradeQuestion): Promise<Duplex> {
  const { host, path, protocol, timeoutMs, clock, signal } = question;
  // Not imported: an import would load all that it could ever give (docs/decisions/0007).
  const { request } = process.getBuiltinModule("node:http");
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      cancel();
      socket.destroy();
      reject(error);
    };
    const cancel = clock.after(timeoutMs, () => fail(new Error("it did not answer in time")));
    const asked = request({
      createConnection: () => socket as Socket,
      method: "POST",
      path,
      headers: { host, connection: "Upgrade", upgrade: protocol, "content-length": 0 },
      signal,
    });
    asked.on("upgrade", (_answer, _socket, head) => {
      cancel();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asked.on("response", (answer) => {
      refusalIn(answer).then(fail, fail);
    });
    asked.on("error", fail);
    asked.end();
  });
}

async function refusalIn(answer: IncomingMessage): Promise<Error> {
  const { statusCode = 0 } = answer;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LONGEST_REFUSAL) break;
  }
  return new PeerRefused(checkRefusal(parsed(Buffer.concat(chunks)), statusCode), statusCode);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
