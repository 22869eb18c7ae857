import type { Duplex } from "node:stream";
import { type Clock, onAbort } from "@fjord/base";
import { SpdyConnection } from "../../../spdy/index.ts";
import { CriStreamRefused } from "../errors.ts";
import { ReadFirstSocket } from "./read-first-socket.ts";

// Not imported: an import would load all that it could ever give (docs/decisions/0007).
const { request } = process.getBuiltinModule("node:http");

/** Opens a connection to where the runtime's streaming server is. */
export type Dial = (host: string, port: number) => Duplex;

export const dialHost: Dial = (host, port) => new ReadFirstSocket().setNoDelay(true).connect({ host, port });

export interface StreamServerOptions {
  dial: Dial;
  clock: Clock;
  signal?: AbortSignal;
}

/** Milliseconds for the runtime, which is on this machine, to answer. */
const PATIENCE = 30_000;
const UPGRADE = "SPDY/3.1";

/** Connects to a URL that the runtime gave out for one use, and speaks SPDY there in the protocol named. */
export function connectStreams(url: string, protocol: string, options: StreamServerOptions): Promise<SpdyConnection> {
  const { dial, clock, signal } = options;
  const { protocol: scheme, hostname, port, host, pathname, search } = new URL(url);
  const refused = (reason: string, cause?: unknown) => new CriStreamRefused({ url, reason }, { cause });
  if (scheme !== "http:") return Promise.reject(refused("only plain HTTP is spoken on the machine's loopback"));
  return new Promise((resolve, reject) => {
    const outgoing = request({
      method: "POST",
      path: `${pathname}${search}`,
      headers: { host, connection: "Upgrade", upgrade: UPGRADE, "x-stream-protocol-version": protocol },
      createConnection: () => dial(hostname.replace(/^\[|\]$/g, ""), Number(port || 80)),
    });
    const settle = (finish: () => void) => {
      cancelTimer();
      cancelSignal();
      finish();
    };
    const fail = (error: unknown) =>
      settle(() => {
        reject(error);
        outgoing.destroy();
      });
    const cancelTimer = clock.after(PATIENCE, () => fail(refused(`no answer within ${PATIENCE / 1000} s`)));
    const cancelSignal = signal === undefined ? () => {} : onAbort(signal, () => fail(signal.reason));
    outgoing.on("error", (error) => fail(refused(error.message, error)));
    outgoing.on("response", (response) => fail(refused(`HTTP status ${response.statusCode}`)));
    outgoing.on("upgrade", (response, socket, head) =>
      settle(() => {
        if (head.length > 0) socket.unshift(head);
        const chosen = response.headers["x-stream-protocol-version"];
        if (chosen === protocol)
          return resolve(new SpdyConnection(socket, { role: "client", clock, announceWindows: false }));
        socket.destroy();
        reject(refused(`it speaks ${chosen ?? "another protocol"} instead of ${protocol}`));
      }),
    );
    outgoing.end();
  });
}
