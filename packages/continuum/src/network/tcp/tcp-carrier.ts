import type { Socket as UdpSocket } from "node:dgram";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { Link, type Site } from "@fjord/api";
import { aborted, describeError } from "@fjord/base";
import type { Cache, Runnable } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Caller, RawRoute } from "../../peer-routes.ts";
import { PROTOCOL } from "../../protocol.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { TcpLink } from "./tcp-link.ts";
import type { TcpMetrics } from "./tcp-metrics.ts";

export const DATAGRAM_PATH = `${PROTOCOL}/datagrams`;
export const DATAGRAM_UPGRADE = "fjord-datagrams";

export interface TcpCarrierOptions {
  readonly home: Pick<Home, "caches" | "clock" | "logger">;
  /** The own site, which says what port WireGuard has. */
  readonly own: { object(): Site | undefined };
  readonly sites: Pick<RemoteSites, "get">;
  /** Of this process, where nodes of the own site reach it. */
  readonly address: string;
  readonly metrics: TcpMetrics;
}

const BUFFER = 4 * 1024 * 1024;

interface Opened {
  readonly endpoint: string;
  readonly link: TcpLink;
}

/**
 * Carries packets of the own gateway to peers, and theirs to it, over the agents' own connections: for where UDP does not pass. Each peer with a Link has a port here,
 * which the Link tells the gateway, and takes packets from that alone; peers without one are refused.
 */
export class TcpCarrier implements RawRoute, Runnable {
  readonly name = "links over TCP";
  readonly prefix = DATAGRAM_PATH;
  readonly access = "peer";
  readonly #options: TcpCarrierOptions;
  readonly #links: Cache<Link>;
  readonly #opened = new Map<SiteId, Promise<Opened | undefined>>();

  constructor(options: TcpCarrierOptions) {
    this.#options = options;
    this.#links = options.home.caches.open(Link).cache;
  }

  /** Where the gateway gives packets for a peer; as `before` where that can be. Undefined where this machine does not let it. */
  async open(site: SiteId, before?: string): Promise<string | undefined> {
    const opening = this.#opened.get(site) ?? this.#open(site, before);
    this.#opened.set(site, opening);
    const opened = await opening;
    if (opened === undefined) this.#opened.delete(site);
    return opened?.endpoint;
  }

  /** There is no link with the peer any more. */
  close(site: SiteId): void {
    const opening = this.#opened.get(site);
    this.#opened.delete(site);
    void opening?.then((opened) => opened?.link.close());
  }

  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    for (const site of [...this.#opened.keys()]) this.close(site);
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, { id }: Caller): Promise<void> {
    if (request.method !== "POST" || request.url !== DATAGRAM_PATH || request.headers.upgrade !== DATAGRAM_UPGRADE)
      throw refused(400, "NoDatagrams", `packets are a POST of ${DATAGRAM_PATH} with the upgrade ${DATAGRAM_UPGRADE}`);
    if (head.length > 0) throw refused(400, "NoDatagrams", "nothing may follow the request before it is answered");
    const opened = await this.#opened.get(id);
    // Another agent of this site may have it: who asks again may meet that one.
    if (opened === undefined) throw refused(409, "NoLink", "this agent has no link with your site");
    if (socket.destroyed) return;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${DATAGRAM_UPGRADE}\r\n\r\n`);
    opened.link.accept(socket);
  }

  async #open(site: SiteId, before: string | undefined): Promise<Opened | undefined> {
    const { home, address, metrics, sites } = this.#options;
    const { clock, logger } = home;
    const host = isIP(address) === 6 ? `[${address}]` : address;
    const port = before?.startsWith(`${host}:`) ? Number(before.slice(host.length + 1)) : 0;
    try {
      const socket = await bind(address, port).catch(() => bind(address, 0));
      const link = new TcpLink({
        site,
        socket,
        gateway: () => this.#gateway(site),
        connect: async (signal) => {
          const remote = sites.get(site);
          if (remote === undefined) throw new Error("the site is not known");
          return await remote.connect(DATAGRAM_PATH, DATAGRAM_UPGRADE, signal);
        },
        clock,
        logger,
        metrics,
      });
      return { endpoint: `${host}:${socket.address().port}`, link };
    } catch (error) {
      logger.warn("packets of the gateway cannot be carried over TCP", { site, reason: describeError(error) });
      return undefined;
    }
  }

  /** By its own word, as only it knows by which address it reaches this process. */
  #gateway(site: SiteId): { address: string; port: number } | undefined {
    const address = this.#links.get({ name: site })?.status?.tcpSource;
    const port = this.#options.own.object()?.spec.network?.port;
    return address === undefined || port === undefined ? undefined : { address, port };
  }
}

function refused(status: number, code: string, message: string): PeerRefused {
  return new PeerRefused({ code, message }, status);
}

function bind(address: string, port: number): Promise<UdpSocket> {
  // Not imported: an import would load all that it could ever give (docs/decisions/0007).
  const { createSocket } = process.getBuiltinModule("node:dgram");
  // As much of it as the system lets: a gateway sends in bursts.
  const socket = createSocket({
    type: isIP(address) === 6 ? "udp6" : "udp4",
    recvBufferSize: BUFFER,
    sendBufferSize: BUFFER,
  });
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => {
      socket.close();
      reject(error);
    });
    socket.bind({ address, port }, () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
