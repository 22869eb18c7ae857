import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { type Clock, sleep } from "@fjord/base";
import { RelayListenError } from "../errors.ts";
import type { Lane } from "./lane.ts";
import { Pipe } from "./pipe.ts";
import { reset } from "./reset.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface RelayOptions {
  /** Where to listen; port 0 for any. */
  listen: Endpoint;
  target: Endpoint;
  /** Towards the target. */
  forth: Lane;
  /** From the target. */
  back: Lane;
  clock: Clock;
}

/** Listens on one address and carries each connection to the target, over one lane there and one back. */
export class Relay {
  readonly #options: RelayOptions;
  readonly #connections = new Set<AbortController>();
  #server: Server | undefined;
  #port: number;
  #accepted = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#port = options.listen.port;
  }

  get address(): Endpoint {
    return { host: this.#options.listen.host, port: this.#port };
  }

  get target(): Endpoint {
    return this.#options.target;
  }

  get refusing(): boolean {
    return this.#server === undefined;
  }

  get connections(): { accepted: number; open: number } {
    return { accepted: this.#accepted, open: this.#connections.size };
  }

  /** Accepts connections; again on the same port after `refuse`. */
  async open(): Promise<void> {
    if (this.#server !== undefined) return;
    // Half-open connections stay half-open: the pipes carry each side's end to the other.
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => void this.#accept(socket));
    const { host } = this.#options.listen;
    try {
      server.listen({ host, port: this.#port, exclusive: true });
      await once(server, "listening");
    } catch (error) {
      throw new RelayListenError(
        { address: `${host}:${this.#port}`, reason: (error as Error).message },
        { cause: error },
      );
    }
    server.unref();
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Resets what is open, and refuses what comes. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const connection of this.#connections) connection.abort();
    this.#connections.clear();
    if (server === undefined) return;
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  /** A real connection takes a round trip to be made: the target sees it half of that later, its bytes wait for all. */
  async #accept(client: Socket): Promise<void> {
    const { forth, back, clock, target } = this.#options;
    const connection = new AbortController();
    const { signal } = connection;
    this.#connections.add(connection);
    this.#accepted++;
    client.setNoDelay(true);
    dieWith(signal, client);
    await sleep(clock, forth.shape.latency, signal);
    await forth.passable(signal);
    if (signal.aborted) return;
    const server = connect({ host: target.host, port: target.port, allowHalfOpen: true, noDelay: true });
    dieWith(signal, server);
    // Either side may be gone long before the other hears of it: that news travels by the pipes, behind the bytes.
    void Promise.all([closed(client), closed(server)]).then(() => this.#connections.delete(connection));
    new Pipe(server, client, back, clock);
    await sleep(clock, back.shape.latency, signal);
    new Pipe(client, server, forth, clock);
  }
}

function dieWith(signal: AbortSignal, socket: Socket): void {
  socket.on("error", () => {});
  signal.addEventListener("abort", () => reset(socket), { once: true });
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
