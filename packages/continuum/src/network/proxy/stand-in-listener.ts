import { createSocket, type RemoteInfo, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import type { StandIn } from "./stand-in-plan.ts";

/** How long a connection to the other site's pod may take to come about. */
const CONNECT_MS = 10_000;

/** One address and port at which this site's agent stands in for an endpoint of another site. */
export class StandInListener {
  readonly standIn: StandIn;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #closed = new AbortController();

  constructor(standIn: StandIn, lead: (socket: Socket, signal: AbortSignal) => Promise<void>) {
    this.standIn = standIn;
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(socket));
      void lead(socket, AbortSignal.any([this.#closed.signal, AbortSignal.timeout(CONNECT_MS)]));
    });
  }

  listen(): Promise<void> {
    const { address: host, port } = this.standIn;
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, exclusive: true }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", () => {});
        resolve();
      });
    });
  }

  /** Takes no new connection; those there go on. */
  stop(): void {
    this.#server.close();
  }

  /** Ends those there too. */
  close(): void {
    this.stop();
    this.#closed.abort(new Error("nobody stands in for it any more"));
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }
}

/** The same for datagrams. */
export class StandInDatagrams {
  readonly standIn: StandIn;
  readonly #socket = createSocket({ type: "udp4", reuseAddr: false });
  readonly #ended: () => void;

  constructor(
    standIn: StandIn,
    send: (socket: UdpSocket, message: Buffer, from: RemoteInfo) => void,
    ended: () => void,
  ) {
    this.standIn = standIn;
    this.#ended = ended;
    this.#socket.on("message", (message, from) => send(this.#socket, message, from));
  }

  listen(): Promise<void> {
    const { address, port } = this.standIn;
    return new Promise((resolve, reject) => {
      this.#socket.once("error", reject);
      this.#socket.bind({ address, port, exclusive: true }, () => {
        this.#socket.off("error", reject).on("error", () => {});
        resolve();
      });
    });
  }

  /** Datagrams have no connections that could go on. */
  stop(): void {
    this.close();
  }

  close(): void {
    this.#ended();
    this.#socket.close();
  }
}
