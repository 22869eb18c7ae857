import { AddressPlan } from "@fjord/api";
import { aborted } from "@fjord/base";
import { type Cache, EndpointSlice, type Runnable } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { calledRanges } from "../address-plan.ts";
import { meantThere } from "../translate.ts";
import { CarriedConnections } from "./carried.ts";
import { CONNECT_UPGRADE, connectPath } from "./connect-path.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { endpointsWithin, keyOf, type SharedEndpoint } from "./shared-endpoints.ts";
import type { SharedNamespaces } from "./shared-namespaces.ts";
import { StandInListener } from "./stand-in-listener.ts";

export interface StandInsOptions {
  readonly home: Pick<Home, "caches" | "clock" | "logger">;
  readonly sites: RemoteSites;
  readonly shared: SharedNamespaces;
  readonly metrics: ProxyMetrics;
}

/** What an address and port of this machine stands for. */
export interface StandIn extends SharedEndpoint {
  readonly site: SiteId;
  /** What the peer itself calls it. */
  readonly meant: string;
}

/** More endpoints of one peer than this machine should listen for: at a provider the consumer says how many there are. */
const MOST = 1024;
const AGAIN_MS = 1_000;

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
  readonly #carried: CarriedConnections;
  readonly #listeners = new Map<string, StandInListener>();
  readonly #complainedOf = new Set<string>();
  #isDue = false;
  #isRunning = false;

  constructor(options: StandInsOptions) {
    this.#options = options;
    this.#plans = options.home.caches.open(AddressPlan).cache;
    this.#slices = options.home.caches.open(EndpointSlice).cache;
    this.#carried = new CarriedConnections("here", options.metrics);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { sites, shared } = this.#options;
    const changed = () => this.#look();
    const handler = { onAdd: changed, onUpdate: changed, onDelete: changed };
    const release = [
      this.#plans.addHandler(handler),
      this.#slices.addHandler(handler),
      sites.onChange(changed),
      shared.onChange(changed),
    ];
    this.#isRunning = true;
    this.#look();
    await aborted(signal);
    this.#isRunning = false;
    for (const each of release) each();
    for (const listener of this.#listeners.values()) listener.close();
    this.#listeners.clear();
    this.#carried.end();
  }

  /** Soon: much changes at once. */
  #look(): void {
    if (this.#isDue || !this.#isRunning) return;
    this.#isDue = true;
    this.#options.home.clock.after(0, () => {
      this.#isDue = false;
      if (this.#isRunning) this.#apply();
    });
  }

  #apply(): void {
    const wanted = this.#wanted();
    for (const [key, listener] of this.#listeners) {
      const next = wanted.get(key);
      if (next !== undefined && next.site === listener.standIn.site && next.meant === listener.standIn.meant) continue;
      this.#listeners.delete(key);
      // Open connections outlive a peer that is away for a while, and nothing else.
      if (this.#isShared(listener.standIn)) listener.stop();
      else listener.close();
    }
    for (const [key, standIn] of wanted) if (!this.#listeners.has(key)) this.#listen(key, standIn);
    for (const key of this.#complainedOf) if (!wanted.has(key)) this.#complainedOf.delete(key);
  }

  #wanted(): Map<string, StandIn> {
    const found = this.#plans.list().flatMap(({ spec }) => {
      const isThere = this.#options.sites.get(spec.site)?.reachability.reachable === true;
      return isThere ? this.#standInsOf(spec) : [];
    });
    return new Map(found.map((each) => [keyOf(each), each]));
  }

  #standInsOf(plan: AddressPlan["spec"]): StandIn[] {
    const { site, carrier } = plan;
    if (carrier !== "Proxy") return [];
    const served = endpointsWithin(this.#slices.list(), this.#options.shared.with(site), calledRanges(plan));
    return served.slice(0, MOST).flatMap((each) => {
      const meant = meantThere(plan, each.address);
      return meant === undefined ? [] : [{ ...each, site, meant }];
    });
  }

  #isShared({ site, address, port }: StandIn): boolean {
    const plan = this.#plans.get({ name: site })?.spec;
    return plan !== undefined && this.#standInsOf(plan).some((each) => keyOf(each) === keyOf({ address, port }));
  }

  #listen(key: string, standIn: StandIn): void {
    const { logger } = this.#options.home;
    const listener = new StandInListener(standIn, (socket, signal) => this.#lead(standIn, socket, signal));
    this.#listeners.set(key, listener);
    listener.listen().catch((error: unknown) => {
      if (this.#listeners.get(key) === listener) this.#listeners.delete(key);
      this.#options.home.clock.after(AGAIN_MS, () => this.#look());
      if (this.#complainedOf.has(key)) return;
      this.#complainedOf.add(key);
      logger.warn("cannot stand in for an endpoint of another site", { address: key, reason: String(error) });
    });
  }

  async #lead(
    { site, meant, port, namespace }: StandIn,
    socket: Parameters<CarriedConnections["carry"]>[2],
    signal: AbortSignal,
  ): Promise<void> {
    const { metrics, sites, home } = this.#options;
    const refuse = (reason: string, why: string) => {
      metrics.refused(site, "here", reason);
      home.logger.debug("a connection to another site did not come about", { site, to: `${meant}:${port}`, why });
      socket.resetAndDestroy();
    };
    const release = this.#carried.take(site, namespace);
    if (release === undefined) return refuse("TooManyConnections", "too many are open, or too many of its namespace");
    try {
      const remote: RemoteSite | undefined = sites.get(site);
      if (remote === undefined) return refuse("Away", "the site is not known");
      const carrier = await remote.connect(connectPath({ address: meant, port }), CONNECT_UPGRADE, signal);
      await this.#carried.carry(site, namespace, socket, carrier);
    } catch (error) {
      refuse(reasonOf(error), String(error));
    } finally {
      release();
    }
  }
}

/** Words of a peer that are no words of ours would make as many counters as it likes. */
const REASONS = ["NotShared", "TooManyConnections", "NoAnswer"];

function reasonOf(error: unknown): string {
  if (!(error instanceof PeerRefused)) return "Away";
  return REASONS.includes(error.refusal.code) ? error.refusal.code : "Refused";
}
