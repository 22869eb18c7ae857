import type { IncomingMessage } from "node:http";
import { createConnection, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { aborted } from "@fjord/base";
import type { Runnable } from "@fjord/kube";
import type { LocalClients } from "@fjord/node/local-clients";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { Caller, RawRoute } from "../../peer-routes.ts";
import type { SiteId } from "../../site-identity.ts";
import { CarriedConnections } from "./carried.ts";
import { CONNECT_PATH, CONNECT_UPGRADE, type Open, type Opened, parseOpen } from "./carried-open.ts";
import type { CarriedParties } from "./carried-parties.ts";
import { FairPlaces } from "./fair-places.ts";
import { InwardFlows } from "./inward-flows.ts";
import { type Led, LedPeers, notShared, refused } from "./led-peers.ts";
import { readMessage, writeMessage } from "./messages.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import type { ServedAt } from "./shared-endpoints.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";

export interface ConnectRouteOptions {
  readonly home: Pick<Home, "caches" | "clock" | "logger">;
  readonly shared: SharedNamespaces;
  readonly parties: CarriedParties;
  readonly clients: LocalClients;
  readonly metrics: ProxyMetrics;
  /** @default a TCP connection of this machine */
  readonly dial?: (to: ServedAt, from?: string) => Promise<Socket>;
  /** How long a stream may wait to be asked over. @default 60000 */
  readonly waitMs?: number;
}

const DIAL_MS = 5_000;
const KEEP_ALIVE_MS = 15_000;
const WAIT_MS = 60_000;
/** Streams of one peer over which nothing is carried. */
const MOST_WAITING = 32;

/**
 * Leads peers to pods of namespaces that are shared with them, and nowhere else: what is asked for is looked up in the own API for each
 * connection, and one whose namespace is no longer shared, or that a policy no longer allows, is ended.
 */
export class ConnectRoute implements RawRoute, Runnable {
  readonly name = "connections of peers";
  readonly prefix = CONNECT_PATH;
  readonly access = "peer";
  readonly #options: ConnectRouteOptions;
  readonly #led: LedPeers;
  readonly #carried: CarriedConnections;
  readonly #flows: InwardFlows;
  readonly #waiting = new Map<SiteId, FairPlaces>();
  readonly #ended = new AbortController();

  constructor(options: ConnectRouteOptions) {
    this.#options = options;
    this.#led = new LedPeers(options);
    this.#carried = new CarriedConnections("peer", options.metrics);
    this.#flows = new InwardFlows({ ...options, led: this.#led, carried: this.#carried, signal: this.#ended.signal });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { shared, parties } = this.#options;
    const lookAgain = () => {
      this.#carried.lookAgain();
      this.#flows.lookAgain();
    };
    const release = [shared.onChange(lookAgain), parties.onChange(lookAgain)];
    await aborted(signal);
    for (const each of release) each();
    this.#ended.abort();
    this.#carried.end();
    this.#flows.end();
    parties.close();
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, { id }: Caller): Promise<void> {
    try {
      if (request.url !== CONNECT_PATH || request.method !== "POST" || request.headers.upgrade !== CONNECT_UPGRADE)
        throw new PeerRefused(
          {
            code: "NoConnection",
            message: `connections are carried over a POST of ${CONNECT_PATH} with the upgrade ${CONNECT_UPGRADE}`,
          },
          400,
        );
      if (head.length > 0)
        throw new PeerRefused(
          { code: "NoConnection", message: "nothing may follow the request before it is answered" },
          400,
        );
      const stop = this.#wait(id);
      if (stop === undefined)
        throw new PeerRefused({ code: "TooManyConnections", message: "too many streams wait: use these first" }, 429);
      // A caller whose machine has vanished says nothing any more, not even that.
      if ("setKeepAlive" in socket) (socket as Socket).setKeepAlive(true, KEEP_ALIVE_MS);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${CONNECT_UPGRADE}\r\n\r\n`);
      void this.#serve(
        id,
        socket.on("error", () => {}),
        stop,
      ).finally(() => socket.destroy());
    } catch (error) {
      this.#refused(id, error);
      throw error;
    }
  }

  /** Leads one connection after the other, until the stream ends. */
  async #serve(site: SiteId, stream: Duplex, stopWaiting: () => void): Promise<void> {
    let stop: (() => void) | undefined = stopWaiting;
    while (stop !== undefined) {
      const text = await readMessage(stream, this.#options.waitMs ?? WAIT_MS, this.#ended.signal);
      stop();
      if (text === undefined) return;
      const open = parseOpen(text);
      if (open === undefined) return this.#refused(site, refused("NoConnection", "it is no question of an agent's"));
      if (open === "datagrams") {
        writeMessage(stream, JSON.stringify({} satisfies Opened));
        return await this.#flows.serve(site, stream);
      }
      if (!(await this.#answer(site, stream, open))) return;
      stop = this.#wait(site);
    }
  }

  /** False where the stream can carry nothing more. */
  async #answer(site: SiteId, stream: Duplex, open: Exclude<Open, string>): Promise<boolean> {
    try {
      if (open.protocol !== "TCP") throw refused("NoConnection", "datagrams go over a stream of their own");
      const { local, led, release } = await this.#lead(site, open);
      if (stream.destroyed) {
        local.resetAndDestroy();
        release();
        return false;
      }
      writeMessage(stream, JSON.stringify({ ...(led.server && { server: led.server }) } satisfies Opened));
      return await this.#carried.carry(site, local, stream, led.isAllowed).finally(release);
    } catch (error) {
      this.#refused(site, error);
      if (stream.destroyed) return false;
      const { code, message } = error instanceof PeerRefused ? error.refusal : INTERNAL;
      writeMessage(stream, JSON.stringify({ refusal: { code, message: message.slice(0, 500) } } satisfies Opened));
      return true;
    }
  }

  async #lead(site: SiteId, open: Exclude<Open, string>): Promise<{ local: Socket; led: Led; release: () => void }> {
    const led = await this.#led.lead(site, open, this.#ended.signal);
    const release = this.#carried.take(site, led.namespace);
    if (release === undefined) throw refused("TooManyConnections", "too many connections are open: end some first");
    try {
      const local = await (this.#options.dial ?? dial)(open, led.from).catch(() => {
        throw refused("NoAnswer", "the pod takes no connection at that port");
      });
      this.#note(local, led);
      // Dialling takes its time, and a change ends only what is carried already.
      const isStill = await this.#led.lead(site, open, this.#ended.signal).then(
        ({ namespace }) => namespace === led.namespace,
        () => false,
      );
      if (isStill) return { local, led, release };
      local.resetAndDestroy();
      throw notShared();
    } catch (error) {
      release();
      throw error;
    }
  }

  /** It may lead to a third site through the own stand-in, which has to know for whom. */
  #note(local: Socket, { client }: Led): void {
    const { localAddress, localPort, remoteAddress, remotePort } = local;
    if (!localAddress || !localPort || !remoteAddress || !remotePort) return;
    const connection = {
      protocol: "TCP",
      client: { address: localAddress, port: localPort },
      server: { address: remoteAddress, port: remotePort },
    } as const;
    local.once("close", this.#options.clients.note(connection, client));
  }

  /** One more that waits, until it is told not to; undefined where there are too many. */
  #wait(site: SiteId): (() => void) | undefined {
    // Each has one place at most: half of them would not be for anybody.
    const places = this.#waiting.get(site) ?? new FairPlaces(2 * MOST_WAITING);
    this.#waiting.set(site, places);
    return places.take(site);
  }

  #refused(site: SiteId, error: unknown): void {
    const reason = error instanceof PeerRefused ? error.refusal.code : "Internal";
    this.#options.metrics.refused(site, "peer", reason);
    this.#options.home.logger.debug("a peer was not led to a pod", { site, reason });
  }
}

const INTERNAL = { code: "Internal", message: "the site could not answer: its agent's log says why" };

function dial({ address, port }: ServedAt, from?: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const localAddress = from === undefined ? {} : { localAddress: from };
    const socket = createConnection({ host: address, port, ...localAddress, allowHalfOpen: true, noDelay: true });
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
