import type { RemoteInfo, Socket } from "node:dgram";
import type { Duplex } from "node:stream";
import type { LocalClients } from "@fjord/node/local-clients";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Asking, AskingPods } from "./asking-pods.ts";
import type { CarriedConnections } from "./carried.ts";
import { openText, parseOpened } from "./carried-open.ts";
import type { Carriers } from "./carriers.ts";
import { FLOW, FLOW_IDLE_MS, type FlowFrame, flowFrame, MOST_HELD, takeFrames } from "./flow-frames.ts";
import { refused } from "./led-peers.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { keyOf } from "./shared-endpoints.ts";
import type { StandIn } from "./stand-in-plan.ts";

export interface OutwardFlowsOptions {
  readonly asking: AskingPods;
  readonly carriers: Carriers;
  readonly carried: CarriedConnections;
  readonly clients: LocalClients;
  readonly metrics: ProxyMetrics;
  /** Told of each that did not come about. */
  readonly refused: (site: SiteId, error: unknown) => void;
}

/** Datagrams of one flow that wait until it is open. */
const MOST_WAITING = 16;
/** One that was refused is not asked for again for so long. */
const REFUSED_MS = 5_000;
const OPEN_MS = 15_000;

interface Flow {
  readonly key: string;
  readonly standIn: StandIn;
  readonly from: { readonly address: string; readonly port: number };
  readonly listening: Socket;
  readonly release: () => void;
  state: "opening" | "open" | "refused";
  waiting: Buffer[];
  asking?: Asking;
  lane?: Lane;
  id?: number;
  last: number;
}

/** Datagrams of pods here to pods of peers: a flow for each client, and one stream for each peer and namespace. */
export class OutwardFlows {
  readonly #options: OutwardFlowsOptions;
  /** The one that was used longest ago comes first. */
  readonly #flows = new Map<string, Flow>();
  readonly #lanes = new Map<string, Promise<Lane>>();
  readonly #ended = new AbortController();
  readonly #sweep = setInterval(() => this.#endIdle(), 1_000).unref();

  constructor(options: OutwardFlowsOptions) {
    this.#options = options;
  }

  send(standIn: StandIn, listening: Socket, message: Buffer, { address, port }: RemoteInfo): void {
    const key = `${keyOf(standIn)} ${address} ${port}`;
    const flow = this.#flows.get(key) ?? this.#begin(key, standIn, listening, { address, port });
    const { metrics } = this.#options;
    if (flow === undefined || flow.state === "refused" || flow.waiting.length >= MOST_WAITING) {
      metrics.dropped(standIn.site);
      return;
    }
    flow.last = performance.now();
    this.#flows.delete(key);
    this.#flows.set(key, flow);
    if (flow.state === "open") flow.lane?.send(flow.id ?? 0, message);
    else flow.waiting.push(message);
  }

  /** Ends those of a stand-in that is gone. */
  endAll(standIn: StandIn): void {
    for (const flow of [...this.#flows.values()]) if (flow.standIn === standIn) this.#end(flow);
  }

  /** Ends those that may no longer be. */
  lookAgain(): void {
    for (const flow of [...this.#flows.values()])
      if (flow.state === "refused" || flow.asking?.isAllowed() === false) this.#end(flow);
  }

  end(): void {
    clearInterval(this.#sweep);
    this.#ended.abort();
    for (const flow of [...this.#flows.values()]) this.#end(flow);
    for (const lane of this.#lanes.values())
      lane.then(
        (each) => each.end(),
        () => {},
      );
  }

  #begin(key: string, standIn: StandIn, listening: Socket, from: Flow["from"]): Flow | undefined {
    const release = this.#place(standIn);
    if (release === undefined) {
      this.#options.refused(standIn.site, refused("TooManyConnections", "too many flows of its namespace"));
      return undefined;
    }
    const flow: Flow = { key, standIn, from, listening, release, state: "opening", waiting: [], last: 0 };
    this.#flows.set(key, flow);
    void this.#open(flow).catch((error: unknown) => {
      if (this.#flows.get(key) !== flow) return;
      this.#options.refused(standIn.site, error);
      // There may be room for the next datagram; else it is not asked for with each of them.
      if (isForNow(error)) this.#end(flow);
      else flow.state = "refused";
      flow.waiting = [];
    });
    return flow;
  }

  /** Where a namespace has no place left, its own oldest flow gives one up. */
  #place({ site, namespace }: StandIn): (() => void) | undefined {
    const { carried } = this.#options;
    const free = carried.take(site, namespace, "UDP");
    if (free !== undefined) return free;
    for (const flow of this.#flows.values()) {
      if (flow.standIn.site !== site || flow.standIn.namespace !== namespace) continue;
      this.#end(flow);
      return carried.take(site, namespace, "UDP");
    }
    return undefined;
  }

  async #open(flow: Flow): Promise<void> {
    const { asking, clients, metrics } = this.#options;
    const { standIn, from } = flow;
    const { site, namespace, meant, port } = standIn;
    const server = { address: standIn.address, port };
    const client = await clients.of({ protocol: "UDP", client: from, server });
    const asked = await asking.ask(standIn, client, this.#ended.signal);
    const lane = await this.#lane(site, namespace);
    if (this.#flows.get(flow.key) !== flow) return;
    flow.asking = asked;
    const open = { protocol: "UDP", address: meant, port, ...(asked.client && { client: asked.client }) } as const;
    const { id, opened } = lane.open(openText(open), {
      datagram: (body) => {
        flow.last = performance.now();
        flow.listening.send(body, from.port, from.address, () => {});
      },
      closed: () => this.#end(flow),
    });
    flow.id = id;
    flow.lane = lane;
    asked.check((await opened).server);
    if (this.#flows.get(flow.key) !== flow) return;
    flow.state = "open";
    metrics.begun(site, "here");
    for (const message of flow.waiting.splice(0)) lane.send(id, message);
  }

  #lane(site: SiteId, namespace: string): Promise<Lane> {
    const key = `${site} ${namespace}`;
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const { carriers, metrics } = this.#options;
    const signal = AbortSignal.any([this.#ended.signal, AbortSignal.timeout(OPEN_MS)]);
    const lane = carriers.ask(site, namespace, "datagrams", signal).then(({ stream }) => {
      const opened = new Lane(stream, site, metrics);
      void opened.closed.then(() => this.#lanes.delete(key));
      return opened;
    });
    this.#lanes.set(key, lane);
    lane.catch(() => this.#lanes.delete(key));
    return lane;
  }

  #end(flow: Flow): void {
    if (this.#flows.get(flow.key) !== flow) return;
    this.#flows.delete(flow.key);
    flow.release();
    if (flow.id !== undefined) flow.lane?.close(flow.id);
  }

  #endIdle(): void {
    const now = performance.now();
    for (const flow of [...this.#flows.values()])
      if (now - flow.last > (flow.state === "refused" ? REFUSED_MS : FLOW_IDLE_MS)) this.#end(flow);
    for (const lane of this.#lanes.values())
      lane.then(
        (each) => each.endIfIdle(),
        () => {},
      );
  }
}

function isForNow(error: unknown): boolean {
  return !(error instanceof PeerRefused) || error.refusal.code === "TooManyConnections";
}

interface Listener {
  datagram(body: Buffer): void;
  closed(): void;
}

type Server = { readonly server?: Parameters<Asking["check"]>[0] };

/** One stream with the flows of a namespace. */
class Lane {
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #site: SiteId;
  readonly #metrics: ProxyMetrics;
  readonly #flows = new Map<number, Listener & { readonly opened: PromiseWithResolvers<Server> }>();
  #next = 1;
  #idleSince = performance.now();

  constructor(stream: Duplex, site: SiteId, metrics: ProxyMetrics) {
    this.#stream = stream;
    this.#site = site;
    this.#metrics = metrics;
    this.closed = new Promise((resolve) => {
      stream.once("close", () => {
        for (const { opened, closed } of [...this.#flows.values()]) {
          opened.reject(new Error("the stream has ended"));
          closed();
        }
        resolve();
      });
    });
    takeFrames(stream, (frame) => this.#take(frame));
    stream.resume();
  }

  open(question: string, listener: Listener): { readonly id: number; readonly opened: Promise<Server> } {
    const id = this.#next++ % 2 ** 32;
    const opened = Promise.withResolvers<Server>();
    opened.promise.catch(() => {});
    this.#flows.set(id, { ...listener, opened });
    if (this.#stream.destroyed) opened.reject(new Error("the stream has ended"));
    else this.#stream.write(flowFrame(FLOW.open, id, Buffer.from(question)));
    return { id, opened: opened.promise };
  }

  send(id: number, message: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableLength > MOST_HELD) {
      this.#metrics.dropped(this.#site);
      return;
    }
    this.#metrics.sent(this.#site, message.length);
    this.#stream.write(flowFrame(FLOW.datagram, id, message));
  }

  close(id: number): void {
    if (!this.#flows.delete(id)) return;
    this.#idleSince = performance.now();
    if (!this.#stream.destroyed) this.#stream.write(flowFrame(FLOW.close, id));
  }

  endIfIdle(): void {
    if (this.#flows.size === 0 && performance.now() - this.#idleSince > FLOW_IDLE_MS) this.end();
  }

  end(): void {
    this.#stream.destroy();
  }

  #take({ kind, flow: id, body }: FlowFrame): void {
    const flow = this.#flows.get(id);
    if (flow === undefined) return;
    if (kind === FLOW.datagram) {
      this.#metrics.received(this.#site, body.length);
      flow.datagram(Buffer.from(body));
    } else if (kind === FLOW.close) {
      this.#flows.delete(id);
      flow.closed();
    } else {
      const answer = parseOpened(body.toString("utf8"));
      if (answer === undefined) throw new Error("it is no answer");
      if ("refusal" in answer) {
        this.#flows.delete(id);
        flow.opened.reject(new PeerRefused(answer.refusal));
      } else flow.opened.resolve(answer);
    }
  }
}
