import { createSocket, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import type { Clock } from "@fjord/base";
import type { LocalClients, Place } from "../local-clients/index.ts";
import { Balancer } from "./balancer.ts";

/** A client that is silent for this long is a new one afterwards. */
const IDLE_MS = 30_000;
const MOST_CLIENTS = 2_000;

interface Conversation {
  readonly socket: Socket;
  readonly endpoint: string;
  last: number;
}

/** Datagrams to one address and port of a Service: each client has its endpoint, and hears from it alone. */
export class UdpListener {
  readonly balancer: Balancer;
  readonly #clock: Clock;
  readonly #clients: LocalClients | undefined;
  readonly #conversations = new Map<string, Conversation>();
  #socket: Socket | undefined;
  #sweep: NodeJS.Timeout | undefined;

  constructor(clock: Clock, clients?: LocalClients) {
    this.#clock = clock;
    this.#clients = clients;
    this.balancer = new Balancer(clock);
  }

  listen(ip: string, port: number): Promise<void> {
    const socket = createSocket({ type: isIPv6(ip) ? "udp6" : "udp4", reuseAddr: false });
    this.#socket = socket;
    socket.on("message", (message, from) => this.#forward(socket, message, from.address, from.port));
    this.#sweep = setInterval(() => this.#forgetIdle(), IDLE_MS).unref();
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.bind({ address: ip, port, exclusive: true }, () => {
        socket.off("error", reject);
        socket.on("error", () => {});
        resolve();
      });
    });
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#socket?.close();
    for (const client of [...this.#conversations.keys()]) this.#end(client);
  }

  /** Those whose endpoint is gone begin anew with the next datagram. */
  keepOnly(endpoints: ReadonlySet<string>): void {
    for (const [client, { endpoint }] of this.#conversations) if (!endpoints.has(endpoint)) this.#end(client);
  }

  #forward(socket: Socket, message: Buffer, address: string, port: number): void {
    const client = `${address} ${port}`;
    const conversation = this.#conversations.get(client) ?? this.#begin(socket, client, address, port);
    if (conversation === undefined) return;
    conversation.last = this.#clock.now();
    conversation.socket.send(message);
  }

  #begin(listening: Socket, client: string, address: string, port: number): Conversation | undefined {
    const endpoint = this.balancer.pick(address);
    if (endpoint === undefined) return undefined;
    const oldest = this.#conversations.keys().next().value;
    if (this.#conversations.size >= MOST_CLIENTS && oldest !== undefined) this.#end(oldest);
    const socket = createSocket(isIPv6(endpoint.ip) ? "udp6" : "udp4");
    const id = `${endpoint.ip} ${endpoint.port}`;
    const conversation: Conversation = { socket, endpoint: id, last: this.#clock.now() };
    socket.on("message", (answer) => listening.send(answer, port, address, () => {}));
    // A refusal: the next datagram finds another endpoint.
    socket.on("error", () => this.#end(client));
    socket.once("connect", () => this.#note(socket, { address, port }, listening));
    socket.connect(endpoint.port, endpoint.ip);
    this.#conversations.set(client, conversation);
    return { ...conversation, socket: queued(socket) };
  }

  #note(socket: Socket, client: Place, listening: Socket): void {
    const place = ({ address, port }: Place): Place => ({ address, port });
    const forget = this.#clients?.note(
      { protocol: "UDP", client: place(socket.address()), server: place(socket.remoteAddress()) },
      { protocol: "UDP", client, server: place(listening.address()) },
    );
    if (forget) socket.once("close", forget);
  }

  #end(client: string): void {
    const conversation = this.#conversations.get(client);
    if (conversation === undefined) return;
    this.#conversations.delete(client);
    conversation.socket.removeAllListeners("message");
    conversation.socket.close();
  }

  #forgetIdle(): void {
    const limit = this.#clock.now() - IDLE_MS;
    for (const [client, { last }] of this.#conversations) if (last < limit) this.#end(client);
  }
}

/** The first datagram waits for the socket to be connected. */
function queued(socket: Socket): Socket {
  const send = (message: Buffer) => socket.once("connect", () => socket.send(message));
  return Object.assign(Object.create(socket) as Socket, { send });
}
