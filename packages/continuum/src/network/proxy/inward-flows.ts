import { createSocket, type Socket } from "node:dgram";
import type { Duplex } from "node:stream";
import type { LocalClients } from "@fjord/node/local-clients";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { SiteId } from "../../site-identity.ts";
import type { CarriedConnections } from "./carried.ts";
import { parseOpen } from "./carried-open.ts";
import { FLOW, FLOW_IDLE_MS, type FlowFrame, flowFrame, MOST_HELD, takeFrames } from "./flow-frames.ts";
import { type Led, type LedPeers, refused } from "./led-peers.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import type { ServedAt } from "./shared-endpoints.ts";

export interface InwardFlowsOptions {
  readonly led: LedPeers;
  readonly carried: CarriedConnections;
  readonly clients: LocalClients;
  readonly metrics: ProxyMetrics;
  readonly signal: AbortSignal;
}

/** So many are being opened at once over one stream; more are refused. */
const MOST_OPENING = 64;

interface Flow {
  readonly socket: Socket;
  readonly isAllowed: () => boolean;
  readonly end: () => void;
  last: number;
}

/** Datagrams of a peer's pods, each flow from a socket of its own, so that the server here tells clients apart and its answers find back. */
export class InwardFlows {
  readonly #options: InwardFlowsOptions;
  readonly #lanes = new Set<Lane>();

  constructor(options: InwardFlowsOptions) {
    this.#options = options;
  }

  /** Until the stream ends. */
  async serve(site: SiteId, stream: Duplex): Promise<void> {
    const lane = new Lane(site, stream, this.#options);
    this.#lanes.add(lane);
    await lane.closed;
    this.#lanes.delete(lane);
  }

  /** Ends those that may no longer be. */
  lookAgain(): void {
    for (const lane of this.#lanes) lane.lookAgain();
  }

  end(): void {
    for (const lane of this.#lanes) lane.end();
  }
}

class Lane {
  readonly closed: Promise<void>;
  readonly #site: SiteId;
  readonly #stream: Duplex;
  readonly #options: InwardFlowsOptions;
  readonly #flows = new Map<number, Flow>();
  /** What tells one opening from another of the same number, of which the first was given up. */
  readonly #opening = new Map<number, symbol>();
  /** How many are being opened, with those that were given up meanwhile. */
  #lookedUp = 0;

  constructor(site: SiteId, stream: Duplex, options: InwardFlowsOptions) {
    this.#site = site;
    this.#stream = stream;
    this.#options = options;
    const sweep = setInterval(() => this.#endIdle(), FLOW_IDLE_MS / 6).unref();
    this.closed = new Promise((resolve) => {
      stream.once("close", () => {
        clearInterval(sweep);
        for (const { end } of [...this.#flows.values()]) end();
        resolve();
      });
    });
    takeFrames(stream, (frame) => this.#take(frame));
    if (stream.destroyed) stream.emit("close");
    stream.resume();
  }

  lookAgain(): void {
    for (const [id, { isAllowed }] of this.#flows) if (!isAllowed()) this.#close(id);
  }

  end(): void {
    this.#stream.destroy();
  }

  #take({ kind, flow, body }: FlowFrame): void {
    if (kind === FLOW.close) {
      this.#opening.delete(flow);
      this.#flows.get(flow)?.end();
    } else if (kind === FLOW.datagram) this.#pass(flow, body);
    else if (kind !== FLOW.open || this.#flows.has(flow) || this.#opening.has(flow))
      throw new Error("it makes no sense");
    else if (this.#lookedUp >= MOST_OPENING)
      this.#refuse(flow, refused("TooManyConnections", "too many flows are being opened"));
    else {
      const opening = Symbol();
      this.#opening.set(flow, opening);
      const isWanted = () => this.#opening.get(flow) === opening;
      this.#lookedUp++;
      void this.#open(flow, body.toString("utf8"), isWanted)
        .catch((error: unknown) => isWanted() && this.#refuse(flow, error))
        .finally(() => {
          this.#lookedUp--;
          if (isWanted()) this.#opening.delete(flow);
        });
    }
  }

  #pass(id: number, datagram: Buffer): void {
    const flow = this.#flows.get(id);
    if (flow === undefined) return;
    flow.last = performance.now();
    const { metrics } = this.#options;
    if (flow.socket.getSendQueueSize() > MOST_HELD) {
      metrics.dropped(this.#site);
      return;
    }
    metrics.received(this.#site, datagram.length);
    // What is read into may be used again before it is sent.
    flow.socket.send(Buffer.from(datagram), () => {});
  }

  async #open(id: number, text: string, isWanted: () => boolean): Promise<void> {
    const { led, carried, signal, metrics } = this.#options;
    const open = parseOpen(text);
    if (open === undefined || open === "datagrams" || open.protocol !== "UDP")
      throw refused("NoConnection", "it is no question of an agent's");
    const found = await led.lead(this.#site, open, signal);
    const release = carried.take(this.#site, found.namespace, "UDP");
    if (release === undefined) throw refused("TooManyConnections", "too many flows are open: end some first");
    let socket: Socket;
    try {
      socket = await connected(open, found.from);
    } catch {
      release();
      throw refused("NoAnswer", "the pod cannot be sent datagrams");
    }
    // Meanwhile it may have been given up.
    if (this.#stream.destroyed || !isWanted() || !found.isAllowed()) {
      release();
      socket.close();
      return;
    }
    const forget = this.#note(socket, found);
    const end = () => {
      if (!this.#flows.delete(id)) return;
      forget();
      release();
      socket.close();
    };
    this.#flows.set(id, { socket, isAllowed: found.isAllowed, end, last: performance.now() });
    metrics.begun(this.#site, "peer");
    socket.on("message", (answer) => this.#answer(id, answer));
    const server = found.server && { server: found.server };
    this.#stream.write(flowFrame(FLOW.opened, id, Buffer.from(JSON.stringify({ ...server }))));
  }

  #answer(id: number, answer: Buffer): void {
    const flow = this.#flows.get(id);
    if (flow === undefined) return;
    flow.last = performance.now();
    const { metrics } = this.#options;
    if (this.#stream.writableLength > MOST_HELD) {
      metrics.dropped(this.#site);
      return;
    }
    metrics.sent(this.#site, answer.length);
    this.#stream.write(flowFrame(FLOW.datagram, id, answer));
  }

  #note(socket: Socket, { client }: Led): () => void {
    const place = ({ address, port }: { address: string; port: number }) => ({ address, port });
    const [here, there] = [place(socket.address()), place(socket.remoteAddress())];
    return this.#options.clients.note({ protocol: "UDP", client: here, server: there }, client);
  }

  #refuse(id: number, error: unknown): void {
    const refusal = error instanceof PeerRefused ? error.refusal : { code: "Internal", message: "it could not answer" };
    this.#options.metrics.refused(this.#site, "peer", refusal.code);
    if (this.#stream.destroyed || this.#stream.writableLength > MOST_HELD) return;
    const { code, message } = refusal;
    const body = JSON.stringify({ refusal: { code, message: message.slice(0, 500) } });
    this.#stream.write(flowFrame(FLOW.refused, id, Buffer.from(body)));
  }

  #endIdle(): void {
    const limit = performance.now() - FLOW_IDLE_MS;
    for (const [id, { last }] of this.#flows) if (last < limit) this.#close(id);
  }

  #close(id: number): void {
    this.#flows.get(id)?.end();
    if (!this.#stream.destroyed) this.#stream.write(flowFrame(FLOW.close, id));
  }
}

function connected({ address, port }: ServedAt, from: string | undefined): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    const fail = (error: Error) => {
      socket.close();
      reject(error);
    };
    socket.once("error", fail);
    const connect = () =>
      socket.connect(port, address, () => {
        // A refusal of a datagram is no end: the server may be there for the next one.
        socket.off("error", fail).on("error", () => {});
        resolve(socket);
      });
    if (from === undefined) connect();
    else socket.bind({ address: from, port: 0 }, connect);
  });
}
