import type { Socket } from "node:net";
import { AddressPlan } from "@fjord/api";
import { aborted } from "@fjord/base";
import { type Cache, EndpointSlice, type Runnable } from "@fjord/kube";
import type { LocalClients } from "@fjord/node/local-clients";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { AskingPods } from "./asking-pods.ts";
import { CarriedConnections } from "./carried.ts";
import type { CarriedParties } from "./carried-parties.ts";
import { Carriers, type CarriersOptions } from "./carriers.ts";
import { refused } from "./led-peers.ts";
import { OutwardFlows } from "./outward-flows.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { keyOf } from "./shared-endpoints.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";
import { StandInDatagrams, StandInListener } from "./stand-in-listener.ts";
import { type PlannedStandIns, plannedStandIns, type StandIn, stillShared } from "./stand-in-plan.ts";

export interface StandInsOptions {
  readonly home: Pick<Home, "caches" | "clock" | "logger">;
  readonly sites: RemoteSites;
  readonly shared: SharedNamespaces;
  readonly parties: CarriedParties;
  readonly clients: LocalClients;
  readonly metrics: ProxyMetrics;
  /** How many streams wait at a peer. */
  readonly streams?: Pick<CarriersOptions, "kept" | "ahead">;
}

type Listener = StandInListener | StandInDatagrams;

const AGAIN_MS = 1_000;
/** Changes that follow each other are looked at together. */
const BETWEEN_MS = 100;
/** So many are opened or closed before others have their turn. */
const PIECE = 64;

/**
 * Listens where endpoints of other sites stand in for themselves, and has the agent of that site lead each connection on. There is one only
 * for what a shared namespace has, and nobody listens for a site that is away, so that whoever tries takes the next endpoint at once.
 */
export class StandIns implements Runnable {
  readonly name = "stand-ins";
  readonly needsLeaderElection = true;
  readonly #options: StandInsOptions;
  readonly #plans: Cache<AddressPlan>;
  readonly #slices: Cache<EndpointSlice>;
  readonly #asking: AskingPods;
  readonly #carriers: Carriers;
  readonly #carried: CarriedConnections;
  readonly #flows: OutwardFlows;
  readonly #listeners = new Map<string, Listener>();
  readonly #complainedOf = new Set<string>();
  readonly #missing = new Map<SiteId, number>();
  readonly #missingListeners = new Set<(site: SiteId) => void>();
  #isDue = false;
  #isApplying = false;
  #isRunning = false;

  constructor(options: StandInsOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
    this.#slices = options.home.caches.open(EndpointSlice).cache;
    this.#asking = new AskingPods(options);
    this.#carriers = new Carriers({ ...options.streams, sites: options.sites, clock: options.home.clock });
    this.#carried = new CarriedConnections("here", options.metrics);
    this.#flows = new OutwardFlows({
      ...options,
      asking: this.#asking,
      carriers: this.#carriers,
      carried: this.#carried,
      refused: (site, error) => this.#refused(site, error),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sites, shared, parties } = this.#options;
    const changed = () => this.#look();
    const handler = { onAdd: changed, onUpdate: changed, onDelete: changed };
    const release = [
      this.#plans.addHandler(handler),
      this.#slices.addHandler(handler),
      sites.onChange(changed),
      shared.onChange(changed),
      parties.onChange(() => this.#lookAgain()),
    ];
    this.#isRunning = true;
    this.#look();
    await aborted(signal);
    this.#isRunning = false;
    for (const each of release) each();
    for (const listener of this.#listeners.values()) listener.close();
    this.#listeners.clear();
    this.#carried.end();
    this.#flows.end();
    this.#carriers.end();
  }

  /** How many endpoints of a peer have no stand-in, at least, because there are too many. */
  missing(site: SiteId): number {
    return this.#missing.get(site) ?? 0;
  }

  /** Tells when that has changed. */
  onMissing(listener: (site: SiteId) => void): () => void {
    this.#missingListeners.add(listener);
    return () => void this.#missingListeners.delete(listener);
  }

  #lookAgain(): void {
    this.#carried.lookAgain();
    this.#flows.lookAgain();
  }

  /** Soon: much changes at once. */
  #look(): void {
    if (this.#isDue || !this.#isRunning) return;
    this.#isDue = true;
    if (!this.#isApplying) void this.#applyAll();
  }

  async #applyAll(): Promise<void> {
    this.#isApplying = true;
    try {
      await this.#pause(0);
      while (this.#isDue && this.#isRunning) {
        this.#isDue = false;
        await this.#apply();
        await this.#pause(BETWEEN_MS);
      }
    } finally {
      this.#isApplying = false;
      if (!this.#isRunning) this.#isDue = false;
    }
  }

  /** Nothing that is many is done at once: tenants say how many there are, and all else waits meanwhile. */
  async #apply(): Promise<void> {
    const wanted = new Map<string, StandIn>();
    for (const { spec } of this.#plans.list()) {
      const isThere = this.#options.sites.get(spec.site)?.reachability.reachable === true;
      const planned = plannedStandIns(spec, this.#slices.list(), this.#options.shared.with(spec.site));
      this.#say(spec.site, planned.missing);
      for (const each of isThere ? planned.standIns : []) wanted.set(keyOf(each), each);
      await this.#pause(0);
    }
    await this.#take(
      [...this.#listeners].filter(([key, { standIn }]) => {
        const next = wanted.get(key);
        return next?.site !== standIn.site || next.meant !== standIn.meant;
      }),
    );
    await this.#inPieces([...wanted], ([key, standIn]) => {
      if (!this.#listeners.has(key)) this.#listen(key, standIn);
    });
    for (const key of this.#complainedOf) if (!wanted.has(key)) this.#complainedOf.delete(key);
    for (const site of this.#missing.keys())
      if (this.#plans.get({ name: site }) === undefined) this.#say(site, new Map());
  }

  async #take(gone: readonly [string, Listener][]): Promise<void> {
    // Open connections outlive a peer that is away for a while, and one that has too many endpoints, and nothing else.
    const goOn = new Set<StandIn>();
    for (const [site, each] of Map.groupBy(gone, ([, { standIn }]) => standIn.site)) {
      const plan = this.#plans.get({ name: site })?.spec;
      const standIns = each.map(([, { standIn }]) => standIn);
      for (const standIn of stillShared(standIns, plan, this.#slices.list(), this.#options.shared.with(site)))
        goOn.add(standIn);
    }
    await this.#inPieces(gone, ([key, listener]) => {
      this.#listeners.delete(key);
      if (goOn.has(listener.standIn)) listener.stop();
      else listener.close();
    });
  }

  async #inPieces<T>(all: readonly T[], work: (one: T) => void): Promise<void> {
    for (let at = 0; at < all.length && this.#isRunning; at += PIECE) {
      for (const one of all.slice(at, at + PIECE)) work(one);
      await this.#pause(0);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.home.clock.after(ms, resolve));
  }

  #say(site: SiteId, missing: PlannedStandIns["missing"]): void {
    const count = [...missing.values()].reduce((sum, each) => sum + each, 0);
    const before = this.missing(site);
    if (count === before) return;
    if (count === 0) this.#missing.delete(site);
    else this.#missing.set(site, count);
    this.#options.metrics.withoutStandIn(site, count);
    if (before === 0)
      this.#options.home.logger.warn("too many endpoints of a site: some have no stand-in here, and are not reached", {
        site,
        namespaces: [...missing.keys()].slice(0, 10).join(", "),
      });
    for (const listener of this.#missingListeners) listener(site);
  }

  #listen(key: string, standIn: StandIn): void {
    const { logger } = this.#options.home;
    const listener =
      standIn.protocol === "TCP"
        ? new StandInListener(standIn, (socket, signal) => this.#lead(standIn, socket, signal))
        : new StandInDatagrams(
            standIn,
            (socket, message, from) => this.#flows.send(standIn, socket, message, from),
            () => this.#flows.endAll(standIn),
          );
    this.#listeners.set(key, listener);
    listener.listen().catch((error: unknown) => {
      if (this.#listeners.get(key) === listener) this.#listeners.delete(key);
      this.#options.home.clock.after(AGAIN_MS, () => this.#look());
      if (this.#complainedOf.has(key)) return;
      this.#complainedOf.add(key);
      logger.warn("cannot stand in for an endpoint of another site", { address: key, reason: String(error) });
    });
  }

  async #lead(standIn: StandIn, socket: Socket, signal: AbortSignal): Promise<void> {
    const { site, namespace, meant, port } = standIn;
    const release = this.#carried.take(site, namespace);
    try {
      if (release === undefined) throw refused("TooManyConnections", "too many are open, or too many of its namespace");
      const asked = await this.#asking.ask(standIn, await this.#clientOf(socket), signal);
      if (socket.destroyed) return;
      const open = { protocol: "TCP", address: meant, port, ...(asked.client && { client: asked.client }) } as const;
      const { stream, opened } = await this.#carriers.ask(site, namespace, open, signal);
      try {
        asked.check(opened.server);
      } catch (error) {
        stream.destroy();
        throw error;
      }
      if (await this.#carried.carry(site, socket, stream, asked.isAllowed)) this.#carriers.giveBack(site, stream);
    } catch (error) {
      this.#refused(site, error);
      socket.resetAndDestroy();
    } finally {
      release?.();
    }
  }

  async #clientOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): ReturnType<LocalClients["of"]> {
    if (!remoteAddress || !remotePort || !localAddress || !localPort) return undefined;
    const client = { address: remoteAddress, port: remotePort };
    return await this.#options.clients.of({
      protocol: "TCP",
      client,
      server: { address: localAddress, port: localPort },
    });
  }

  #refused(site: SiteId, error: unknown): void {
    const { metrics, home } = this.#options;
    metrics.refused(site, "here", reasonOf(error));
    home.logger.debug("a connection to another site did not come about", { site, why: String(error) });
  }
}

/** Words of a peer that are no words of ours would make as many counters as it likes. */
const REASONS = ["NotShared", "TooManyConnections", "NoAnswer", "OtherNamespace", "Policy", "ClientUnknown"];

function reasonOf(error: unknown): string {
  if (!(error instanceof PeerRefused)) return "Away";
  return REASONS.includes(error.refusal.code) ? error.refusal.code : "Refused";
}
