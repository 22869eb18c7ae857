import { AddressPlan, CONSUMER_LABEL, Export, Import, Link, Peering, Site } from "@fjord/api";
import {
  type Cache,
  type Controller,
  done,
  generationChanged,
  type Node,
  Pod,
  type Result,
  type Runnable,
  sameContent,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import type { LiveContracts } from "../live-contracts.ts";
import type { NetworkFacts } from "../protocol.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import type { Twins } from "../twins.ts";
import type { VirtualNodes } from "../virtual-nodes.ts";
import { addressPlan, factsOf, isUsable } from "./address-plan.ts";
import { exportFacts } from "./export-entries.ts";
import { changesAddresses, guestAddresses } from "./groups.ts";
import type { HeardNetworks } from "./heard-networks.ts";
import { Hubs } from "./hubs.ts";
import type { CardsBetween } from "./introductions/cards-between.ts";
import type { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { introducedGroups } from "./introductions/introducers.ts";
import { Meetings } from "./introductions/meetings.ts";
import { KeyHolders } from "./key-holders.ts";
import { forgeLink, type LinkPath, linkPath } from "./link-forge.ts";
import type { LinkKey } from "./link-key.ts";
import { LinkParties } from "./link-parties.ts";
import { fitLink, type LeftOut, NOTHING_LEFT_OUT } from "./link-room.ts";
import { NamespacePods } from "./namespace-pods.ts";
import { NetworkChanges } from "./network-changes.ts";
import { leadsTo, sightsOf } from "./network-state-of.ts";
import { takesPart } from "./own-network.ts";
import { OwnObjects } from "./own-objects.ts";
import { peerWord } from "./peer-word.ts";
import { planStatus, withLeftOut } from "./plan-status.ts";
import { PlannedNames } from "./planned-names.ts";
import { isRefusedWrite } from "./refused-write.ts";
import { type SitePair, SitePairs } from "./site-pairs.ts";
import type { TcpCarrier } from "./tcp/tcp-carrier.ts";
import { PeerTeller } from "./tell-peer.ts";

export interface NetworkControllerOptions {
  readonly home: Home;
  /** The own site and its nodes. */
  readonly own: {
    object(): Site | undefined;
    nodes(): readonly Node[];
    onChange(listener: () => void): () => void;
  };
  readonly sites: RemoteSites;
  readonly heard: HeardNetworks;
  readonly introductions: HeardIntroductions;
  readonly cards: CardsBetween;
  /** As provider. */
  readonly contracts: LiveContracts;
  readonly twins: Twins;
  readonly nodes: VirtualNodes;
  readonly key: LinkKey;
  /** Carries packets where UDP does not pass. */
  readonly carrier: Pick<TcpCarrier, "open" | "close">;
  /** Of the own Services. */
  readonly serviceRanges: readonly string[];
}

/** Through which sites another one can be met: the one that the owner wants, or those that say that they lead there. */
interface HubsTo {
  readonly asked?: SiteId;
  readonly leading: readonly SiteId[];
}

/** The gateway uses another key, or is about to, which peers are to be told. */
const keyChanged = updatesWhere<Link>(
  (old, { status }) => old.status?.ownKey !== status?.ownKey || old.status?.nextKey !== status?.nextKey,
);

/**
 * Keeps an AddressPlan and a Link for each peer with which pods are to meet: at a consumer by its Peerings, at a provider
 * for consumers with a contract that ask for it. One peer at a time, as no two may be given the same names.
 */
export class NetworkController implements Runnable {
  readonly name = "network";
  readonly needsLeaderElection = true;
  readonly #options: NetworkControllerOptions;
  readonly #controller: Controller;
  readonly #plans: OwnObjects<AddressPlan>;
  readonly #links: OwnObjects<Link>;
  readonly #peerings: Cache<Peering>;
  readonly #sites: Cache<Site>;
  readonly #guests: Cache<Pod>;
  readonly #exports: Cache<Export>;
  readonly #imports: Cache<Import>;
  readonly #pods: NamespacePods;
  readonly #pairs: SitePairs;
  readonly #meetings: Meetings;
  readonly #hubs: Hubs;
  readonly #holders: KeyHolders;
  readonly #names: PlannedNames;
  readonly #parties: LinkParties;
  readonly #changes: NetworkChanges;
  readonly #teller: PeerTeller;

  constructor(options: NetworkControllerOptions) {
    this.#options = options;
    const { home, twins } = options;
    const { caches, client } = home;
    const plans = caches.open(AddressPlan).cache;
    const links = caches.open(Link).cache;
    this.#plans = new OwnObjects(client, AddressPlan, plans);
    this.#links = new OwnObjects(client, Link, links);
    this.#peerings = caches.open(Peering).cache;
    this.#sites = caches.open(Site).cache;
    this.#guests = caches.open(Pod, { labelSelector: CONSUMER_LABEL }).cache;
    this.#exports = caches.open(Export).cache;
    this.#imports = caches.open(Import).cache;
    this.#pods = new NamespacePods(home, (namespace) => {
      for (const site of twins.sitesOf(namespace)) this.#look(site);
      for (const { status } of this.#imports.list(namespace)) this.#look(status?.siteId);
    });
    const wordOf = (site: SiteId) => peerWord(site, options.heard, options.sites);
    const known = { ...options, plans: this.#plans, links: this.#links, peerings: this.#peerings, wordOf };
    this.#meetings = new Meetings({ ...known, heard: options.introductions });
    this.#hubs = new Hubs({ ...known, sites: this.#sites });
    this.#holders = new KeyHolders({ ...known, id: home.identity.id });
    this.#names = new PlannedNames(known);
    const objects = { siteObjects: this.#sites, exports: this.#exports, imports: this.#imports };
    this.#pairs = new SitePairs({ ...known, ...objects, meetings: this.#meetings });
    this.#parties = new LinkParties({
      ...known,
      guests: this.#guests,
      imports: this.#imports,
      pods: this.#pods,
      isProvider: (site) => this.#pairs.isProvider(site),
    });
    this.#changes = new NetworkChanges({
      ...known,
      ...objects,
      hubs: this.#hubs,
      meetings: this.#meetings,
      holders: this.#holders,
      look: (site) => this.#look(site),
    });
    this.#teller = new PeerTeller({
      ...known,
      clock: home.clock,
      look: (name, afterMs) => this.#controller.enqueue({ name }, afterMs),
    });
    const siteOf = (id: SiteId | undefined) => (id === undefined ? [] : [{ name: id }]);
    const around = (id: SiteId | undefined) =>
      id === undefined ? [] : this.#meetings.around(id).map((name) => ({ name }));
    this.#controller = homeController(home, {
      name: this.name,
      sources: [
        watches(plans, { when: generationChanged }),
        watches(links, { when: (change) => generationChanged(change) || keyChanged(change) }),
        watches(this.#peerings, { map: ({ status }) => [...siteOf(status?.siteId), ...around(status?.siteId)] }),
        watches(this.#guests, {
          when: changesAddresses,
          map: ({ metadata }) => {
            const consumer = metadata.labels?.[CONSUMER_LABEL];
            const introduced = consumer === undefined ? [] : this.#meetings.introducedBy(consumer);
            return [...siteOf(consumer), ...introduced.map((name) => ({ name }))];
          },
        }),
      ],
      concurrency: 1,
      backoff: { initial: 100, max: 5_000 },
      reconcile: ({ name }, { signal }) => this.#reconcile(name, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal = stop): Promise<void> {
    const release = this.#changes.follow();
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      release();
      this.#teller.close();
      this.#pods.keepOnly(new Set());
    }
  }

  async #reconcile(site: SiteId, signal: AbortSignal): Promise<Result> {
    const pair = this.#pairs.with(site);
    if (pair === undefined) {
      await this.#removeLink(site, signal);
      await this.#plans.remove(site, signal);
      this.#parties.followPods();
      this.#teller.tell(site, undefined);
      return done();
    }
    await this.#options.key.ensure(signal);
    const plan = await this.#keepPlan(pair, signal);
    const hubs = this.#hubsTo(pair);
    const left = await this.#keepLink(pair, plan, hubs, signal);
    await this.#sayLeftOut(plan, left, pair, signal);
    this.#parties.followPods();
    this.#teller.tell(site, pair.isAsked ? this.#saying(pair, plan, hubs) : undefined);
    return done();
  }

  async #keepPlan(pair: SitePair, signal: AbortSignal): Promise<AddressPlan> {
    const { site, own, isAsked, isSilent, introducers, facts, others } = pair;
    const before = isSilent || facts !== undefined ? this.#plans.get(site)?.spec : undefined;
    const spec = addressPlan({
      site,
      own,
      others: this.#names.ofOthers(site),
      words: this.#names.ofConsumers(),
      ...(facts && { facts }),
      ...(before && { before }),
      meetings: {
        ...(introducers.length > 0 && { introducedBy: introducers.map(({ consumer }) => consumer) }),
        ...(!isAsked && { scope: "Guests" }),
        ...(others.length > 0 && { others }),
      },
    });
    const plan = await this.#orUnlinked(site, signal, this.#plans.keep(site, spec, signal));
    // Guests' homes have words for it, and providers are told those of this site.
    if (!sameContent(before?.peer, spec.peer))
      for (const other of [...this.#meetings.around(site), ...(spec.introducedBy ?? [])]) this.#look(other);
    await this.#plans.say(plan, planStatus(plan, this.#options.home.clock.now(), this.#keyHolder(pair)), signal);
    return plan;
  }

  /** Who else has the key that a site names. */
  #keyHolder({ site, facts, isAsked }: SitePair) {
    return facts && this.#holders.other(site, facts, isAsked);
  }

  #hubsTo({ site, isAsked }: SitePair): HubsTo {
    const asked = isAsked ? this.#hubs.wanted(site) : undefined;
    return asked === undefined ? { leading: this.#hubs.leadingTo(site) } : { asked, leading: [] };
  }

  /** Resolves with what it had no room for. */
  async #keepLink(pair: SitePair, { spec }: AddressPlan, hubs: HubsTo, signal: AbortSignal): Promise<LeftOut> {
    const { site, own, word, isAsked, isSilent, introducers, facts, others, entries, imported } = pair;
    const keyed = facts && this.#holders.withoutOthers(site, facts, isAsked);
    const heard = keyed && linkPath(site, keyed, hubs.asked, hubs.leading, (hub) => this.#hubs.sight(hub, site));
    const path = heard ?? (isSilent ? this.#links.get(site)?.spec : undefined);
    if (path === undefined || this.#keyHolder(pair) !== undefined || !isUsable(spec)) {
      await this.#removeLink(site, signal);
      return NOTHING_LEFT_OUT;
    }
    const groups = isAsked ? await this.#parties.groups(site, spec, entries, imported, signal) : [];
    const before = this.#links.get(site)?.spec.groups;
    const introduced = new Map(
      introducers.map((each) => [each.consumer, introducedGroups(spec, [each], this.#guests.list(), before)]),
    );
    const tcp = await this.#carried(site, path, facts);
    const guests = {
      addresses: guestAddresses(spec, this.#parties.guestsOf(site)),
      names: this.#names.ofHome(spec, own, word),
    };
    const machines = this.#pairs.isProvider(site) ? own.machines : [];
    const link = forgeLink(site, path, own, groups, sitesOf(others), tcp, guests, machines);
    const { spec: fitted, left } = fitLink(link, introduced);
    await this.#orUnlinked(site, signal, this.#links.keep(site, fitted, signal));
    return left;
  }

  async #sayLeftOut(kept: AddressPlan, left: LeftOut, { introducers }: SitePair, signal: AbortSignal): Promise<void> {
    const plan = this.#plans.get(kept.spec.site) ?? kept;
    // Of whoever has said nothing since the agent started, a Link has what it had room for before.
    const isAllKnown = introducers.every(({ said }) => said !== undefined);
    await this.#plans.say(plan, withLeftOut(plan, left, this.#options.home.clock.now(), isAllKnown), signal);
  }

  /** What a peer is told. */
  #saying({ site, own, entries, others }: SitePair, { spec }: AddressPlan, hubs: HubsTo): NetworkFacts | undefined {
    const { key, home, own: ownSite } = this.#options;
    const introduces = sitesOf(others);
    const { ownKey: publicKey = key.publicKey ?? "", nextKey } = this.#links.get(site)?.status ?? {};
    const [fallback] = hubs.leading;
    const led = leadsTo(ownSite.object(), site, this.#sites.list(), this.#links.names(), introduces);
    const links = this.#links.names().flatMap((name) => this.#links.get(name) ?? []);
    return factsOf(spec, {
      publicKey,
      ...(nextKey !== undefined && { nextKey }),
      ...key.proven({ publicKey, nextKey }, this.#links.get(site)?.spec, home.identity.id),
      endpoints: own.endpoints,
      lanes: own.lanes,
      exports: exportFacts(entries),
      leadsTo: led,
      sights: sightsOf(led, links),
      tcp: true,
      introduces,
      calls: this.#names.calls(introduces),
      ...(takesPart(ownSite.object()) && { meets: true }),
      ...(hubs.asked !== undefined && { relay: { hub: hubs.asked, port: own.port } }),
      ...(fallback !== undefined && { fallback: { hub: fallback, port: own.port } }),
    });
  }

  async #removeLink(site: SiteId, signal: AbortSignal): Promise<void> {
    this.#options.carrier.close(site);
    await this.#links.remove(site, signal);
  }

  /** Where the API takes no longer what is to be, the Link of before would go on to let pass who no longer may: then there is none. */
  async #orUnlinked<T>(site: SiteId, signal: AbortSignal, writing: Promise<T>): Promise<T> {
    try {
      return await writing;
    } catch (error) {
      if (isRefusedWrite(error)) await this.#removeLink(site, signal);
      throw error;
    }
  }

  /** Where the gateway may give packets to the agent, if the peer's agent takes them; what was said before holds while that is silent. */
  async #carried(site: SiteId, { via }: LinkPath, facts: NetworkFacts | undefined): Promise<string | undefined> {
    const before = this.#links.get(site)?.spec.tcp?.endpoint;
    const isTaken = facts === undefined ? before !== undefined : facts.tcp === true;
    const endpoint = isTaken && via === undefined ? await this.#options.carrier.open(site, before) : undefined;
    if (endpoint === undefined) this.#options.carrier.close(site);
    return endpoint;
  }

  #look(site: SiteId | undefined): void {
    if (site !== undefined) this.#controller.enqueue({ name: site });
  }
}

function sitesOf(others: SitePair["others"]): SiteId[] {
  return others.map(({ site }) => site);
}
