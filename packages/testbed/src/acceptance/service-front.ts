import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { Endpoint } from "../network/relay.ts";

/** One address for several servers, as a Service gives it: each connection goes to the next of them, be it there or not. */
export class ServiceFront implements AsyncDisposable {
  readonly #endpoints: Endpoint[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #next = 0;

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = [...endpoints];
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#carry(socket));
  }

  async listen(host: string): Promise<Endpoint> {
    this.#server.listen({ host, port: 0 });
    await once(this.#server, "listening");
    return { host, port: (this.#server.address() as AddressInfo).port };
  }

  /** No new connection goes there. */
  remove(endpoint: Endpoint): void {
    this.#endpoints.splice(this.#endpoints.indexOf(endpoint), 1);
  }

  #carry(socket: Socket): void {
    const endpoint = this.#endpoints[this.#next++ % this.#endpoints.length] as Endpoint;
    const server = connect({ ...endpoint, allowHalfOpen: true });
    for (const [one, other] of [
      [socket, server],
      [server, socket],
    ] as const) {
      this.#sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.resetAndDestroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await once(this.#server, "close");
  }
}
