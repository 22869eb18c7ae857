import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { describeError, type Logger, onAbort, silentLogger } from "@fjord/base";
import type { ClusterConfig } from "../config/cluster-config.ts";
import { type PortForwardOptions, portForward } from "./port-forward.ts";

export interface ListenOptions extends PortForwardOptions {
  /** @default "127.0.0.1" */
  readonly localHost?: string;
  /** @default 0, for any free one */
  readonly localPort?: number;
  /** Told of connections that failed; the listener goes on. */
  readonly logger?: Logger;
}

/** A local port that leads to a pod until it is closed, or the signal aborts. */
export interface PortForwardListener extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Cuts the connections; resolves when nothing is left. */
  close(): Promise<void>;
}

/** Listens on a local port and forwards each connection to the pod. */
export async function listenPortForward(config: ClusterConfig, options: ListenOptions): Promise<PortForwardListener> {
  const { logger = silentLogger, localHost = "127.0.0.1", localPort = 0, signal, ...forward } = options;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const connections = new Set<Promise<void>>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (local) => {
    const connection = serve(config, { ...forward, signal: stop.signal }, local).catch((error: unknown) => {
      if (!stop.signal.aborted)
        logger.warn("port-forward connection failed", { pod: forward.pod, reason: describeError(error) });
    });
    connections.add(connection);
    connection.finally(() => connections.delete(connection));
  });
  const { address: host, port } = await listen(server, localHost, localPort);
  const close = async () => {
    stopListening();
    stop.abort();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
    await Promise.all(connections);
  };
  const stopListening = signal === undefined ? () => {} : onAbort(signal, close);
  return { host, port, close, [Symbol.asyncDispose]: close };
}

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen({ host, port });
  await once(server, "listening");
  return server.address() as AddressInfo;
}

async function serve(config: ClusterConfig, options: PortForwardOptions, local: Socket): Promise<void> {
  const gone = new AbortController();
  local.on("error", (error) => gone.abort(error));
  const signal = AbortSignal.any([gone.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  try {
    const remote = await portForward(config, { ...options, signal });
    local.resume();
    await Promise.all([pipeline(local, remote), pipeline(remote, local)]);
  } finally {
    local.destroy();
  }
}
