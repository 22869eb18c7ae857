import { createConnection, createServer, type Server, type Socket } from "node:net";
import type { Clock } from "@fjord/base";
import type { LocalClients } from "../local-clients/index.ts";
import { Balancer } from "./balancer.ts";
import type { Endpoint } from "./service-plan.ts";

const CONNECT_MS = 5_000;

/** One address and port of a Service, carried to its endpoints connection by connection. */
export class TcpListener {
  readonly balancer: Balancer;
  readonly #clients: LocalClients | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(clock: Clock, clients?: LocalClients) {
    this.balancer = new Balancer(clock);
    this.#clients = clients;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => this.#serve(client));
  }

  listen(ip: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host: ip, port, exclusive: true }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", () => {});
        resolve();
      });
    });
  }

  /** Takes no new connection; those there go on until they end, unless they are to be cut. */
  close(cut: boolean): void {
    this.#server.close();
    if (cut) for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(client: Socket): Promise<void> {
    this.#track(client);
    const tried = new Set<Endpoint>();
    for (;;) {
      const endpoint = this.balancer.pick(client.remoteAddress ?? "", tried);
      if (endpoint === undefined) {
        client.resetAndDestroy();
        return;
      }
      tried.add(endpoint);
      const upstream = await connect(endpoint);
      if (client.destroyed) upstream?.destroy();
      if (client.destroyed) return;
      if (upstream === undefined) continue;
      this.#track(upstream);
      this.#note(client, upstream);
      join(client, upstream);
      return;
    }
  }

  #note(client: Socket, upstream: Socket): void {
    const { remoteAddress: from, remotePort, localAddress: to, localPort } = client;
    const { localAddress: here, localPort: herePort, remoteAddress: there, remotePort: therePort } = upstream;
    if (!this.#clients || !from || !remotePort || !to || !localPort) return;
    if (!here || !herePort || !there || !therePort) return;
    const forget = this.#clients.note(
      {
        protocol: "TCP",
        client: { address: here, port: herePort },
        server: { address: there, port: therePort },
      },
      { protocol: "TCP", client: { address: from, port: remotePort }, server: { address: to, port: localPort } },
    );
    upstream.once("close", forget);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
    socket.setNoDelay(true);
  }
}

function connect({ ip, port }: Endpoint): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: ip, port, allowHalfOpen: true });
    const giveUp = setTimeout(() => fail(), CONNECT_MS);
    const fail = () => {
      clearTimeout(giveUp);
      socket.destroy();
      resolve(undefined);
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(giveUp);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

/** Each end of input is passed on by itself: half-closed connections stay half-closed. */
function join(a: Socket, b: Socket): void {
  a.pipe(b);
  b.pipe(a);
  a.on("close", (hadError) => (hadError ? b.resetAndDestroy() : b.destroySoon()));
  b.on("close", (hadError) => (hadError ? a.resetAndDestroy() : a.destroySoon()));
}
