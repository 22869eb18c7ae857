import type { IncomingMessage } from "node:http";
import { createConnection, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AddressPlan, CONSUMER_LABEL } from "@fjord/api";
import { aborted } from "@fjord/base";
import { type Cache, EndpointSlice, Pod, type Runnable } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Caller, RawRoute } from "../../peer-routes.ts";
import type { SiteId } from "../../site-identity.ts";
import type { Twins } from "../../twins.ts";
import { NamespacePods } from "../namespace-pods.ts";
import { parseCidrs } from "../ranges.ts";
import { CarriedConnections } from "./carried.ts";
import { CONNECT_PREFIX, CONNECT_UPGRADE, parseConnectPath } from "./connect-path.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { type ServedAt, sharedBy } from "./shared-endpoints.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";

export interface ConnectRouteOptions {
  readonly home: Pick<Home, "caches" | "clock" | "logger">;
  readonly shared: SharedNamespaces;
  /** As consumer. */
  readonly twins: Twins;
  readonly metrics: ProxyMetrics;
  /** @default a TCP connection of this machine */
  readonly dial?: (to: ServedAt) => Promise<Socket>;
}

const DIAL_MS = 5_000;
const KEEP_ALIVE_MS = 15_000;

/**
 * Leads peers to pods of namespaces that are shared with them, and nowhere else: what is asked for is looked up in the own API for each
 * connection, and one whose namespace is no longer shared is ended.
 */
export class ConnectRoute implements RawRoute, Runnable {
  readonly name = "connections of peers";
  readonly prefix = CONNECT_PREFIX;
  readonly access = "peer";
  readonly #options: ConnectRouteOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #slices: Cache<EndpointSlice>;
  readonly #guests: Cache<Pod>;
  readonly #pods: NamespacePods;
  readonly #carried: CarriedConnections;
  readonly #ended = new AbortController();

  constructor(options: ConnectRouteOptions) {
    this.#options = options;
    const { caches } = options.home;
    this.#plans = caches.open(AddressPlan).cache;
    this.#slices = caches.open(EndpointSlice).cache;
    this.#guests = caches.open(Pod, { labelSelector: CONSUMER_LABEL }).cache;
    this.#pods = new NamespacePods({ caches }, () => {});
    this.#carried = new CarriedConnections("peer", options.metrics);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { shared } = this.#options;
    const release = shared.onChange(() =>
      this.#carried.keepOnly((site, namespace) => shared.with(site).has(namespace)),
    );
    await aborted(signal);
    release();
    this.#ended.abort();
    this.#carried.end();
    this.#pods.keepOnly(new Set());
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, { id }: Caller): Promise<void> {
    try {
      await this.#lead(request, socket, head, id);
    } catch (error) {
      const reason = error instanceof PeerRefused ? error.refusal.code : "Internal";
      this.#options.metrics.refused(id, "peer", reason);
      this.#options.home.logger.debug("a peer was not led to a pod", { site: id, path: request.url, reason });
      throw error;
    }
  }

  async #lead(request: IncomingMessage, socket: Duplex, head: Buffer, site: SiteId): Promise<void> {
    const wanted = parseConnectPath(request.url ?? "");
    if (wanted === undefined || request.method !== "POST" || request.headers.upgrade !== CONNECT_UPGRADE)
      throw refused(
        400,
        "NoConnection",
        `a connection is a POST of ${CONNECT_PREFIX}/ADDRESS/PORT with the upgrade ${CONNECT_UPGRADE}`,
      );
    if (head.length > 0) throw refused(400, "NoConnection", "nothing may follow the request before it is answered");
    const namespace = await this.#namespaceOf(wanted, site);
    if (namespace === undefined) throw notShared();
    const release = this.#carried.take(site, namespace);
    if (release === undefined)
      throw refused(429, "TooManyConnections", "too many connections are open: end some first");
    try {
      const local = await (this.#options.dial ?? dial)(wanted).catch(() => {
        throw refused(502, "NoAnswer", "the pod takes no connection at that port");
      });
      // Dialling takes its time, and a change ends only what is carried already.
      const isStillShared = await this.#namespaceOf(wanted, site).then(
        (now) => now === namespace,
        () => false,
      );
      if (!isStillShared || socket.destroyed) local.resetAndDestroy();
      if (!isStillShared) throw notShared();
      if (socket.destroyed) return release();
      // A caller whose machine has vanished says nothing any more, not even that.
      if ("setKeepAlive" in socket) (socket as Socket).setKeepAlive(true, KEEP_ALIVE_MS);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${CONNECT_UPGRADE}\r\n\r\n`);
      void this.#carried.carry(site, namespace, local, socket).finally(release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async #namespaceOf(wanted: ServedAt, site: SiteId): Promise<string | undefined> {
    const { shared, twins } = this.#options;
    const plan = this.#plans.get({ name: site })?.spec;
    const namespaces = shared.with(site);
    if (plan?.carrier !== "Proxy" || namespaces.size === 0) return undefined;
    const own = await Promise.all(twins.namespacesAt(site).map((name) => this.#pods.in(name, this.#ended.signal)));
    const guests = this.#guests.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === site);
    return sharedBy(wanted, {
      namespaces,
      pods: [...guests, ...own.flat()],
      slices: this.#slices.list(),
      ranges: parseCidrs(plan.own.map(({ range }) => range)),
    });
  }
}

function refused(status: number, code: string, message: string): PeerRefused {
  return new PeerRefused({ code, message }, status);
}

function notShared(): PeerRefused {
  return refused(403, "NotShared", "no pod of a namespace that this site shares with yours has that address and port");
}

function dial({ address, port }: ServedAt): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: address, port, allowHalfOpen: true, noDelay: true });
    const fail = (error: Error) => {
      clearTimeout(giveUp);
      socket.destroy();
      reject(error);
    };
    const giveUp = setTimeout(() => fail(new Error("it did not answer in time")), DIAL_MS);
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(giveUp);
      socket.off("error", fail);
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}
