import { AddressPlan, CONSUMER_LABEL, Export, Import, Link, Peering, Site } from "@fjord/api";
import {
  type Cache,
  type Controller,
  generationChanged,
  getCondition,
  isBeingDeleted,
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
import { type ExportEntry, entriesFor, exportFacts, exportRanges, ownImports, siteNames } from "./export-entries.ts";
import { changesAddresses, guestAddresses } from "./groups.ts";
import type { HeardNetworks } from "./heard-networks.ts";
import { Hubs } from "./hubs.ts";
import type { CardsBetween } from "./introductions/cards-between.ts";
import type { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { introducedGroups, newestCard } from "./introductions/introducers.ts";
import { Meetings } from "./introductions/meetings.ts";
import { KeyHolders } from "./key-holders.ts";
import { forgeLink, type LinkPath, linkPath } from "./link-forge.ts";
import type { LinkKey } from "./link-key.ts";
import { LinkParties } from "./link-parties.ts";
import { NamespacePods } from "./namespace-pods.ts";
import { leadsTo, sightsOf } from "./network-state-of.ts";
import { machineRanges, type OwnNetwork, ownNetwork, takesPart } from "./own-network.ts";
import { OwnObjects } from "./own-objects.ts";
import { type PeerWord, peerWord } from "./peer-word.ts";
import { planStatus } from "./plan-status.ts";
import { PlannedNames } from "./planned-names.ts";
import { isRefusedWrite } from "./refused-write.ts";
import type { TcpCarrier } from "./tcp/tcp-carrier.ts";
import { tellPeer } from "./tell-peer.ts";

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
  /** What providers were told last, by site: its digest. */
  readonly #told = new Map<SiteId, string | undefined>();
  readonly #exports: Cache<Export>;
  readonly #imports: Cache<Import>;
  readonly #pods: NamespacePods;
  readonly #meetings: Meetings;
  readonly #hubs: Hubs;
  readonly #holders: KeyHolders;
  readonly #names: PlannedNames;
  readonly #parties: LinkParties;
  /** Providers that were last heard to let themselves be introduced. */
  readonly #meeting = new Set<SiteId>();

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
    const { plans: own, peerings } = { plans: this.#plans, peerings: this.#peerings };
    const { introductions } = options;
    const wordOf = (site: SiteId) => this.#wordOf(site);
    this.#meetings = new Meetings({ ...options, plans: own, peerings, heard: introductions, wordOf });
    this.#hubs = new Hubs({ links: this.#links, peerings, sites: this.#sites, wordOf });
    const { id } = home.identity;
    this.#holders = new KeyHolders({ links: this.#links, plans: own, key: options.key, id, wordOf });
    this.#names = new PlannedNames({ plans: own, links: this.#links, wordOf });
    this.#parties = new LinkParties({
      ...options,
      links: this.#links,
      guests: this.#guests,
      imports: this.#imports,
      pods: this.#pods,
      isProvider: (site) => this.#isProvider(site),
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
    const { home, own, sites, contracts, twins, nodes, heard, introductions, cards } = this.#options;
    const release = [
      own.onChange(() => this.#lookAtAll()),
      sites.onChange((id) => {
        this.#look(id);
        // It may be a hub.
        for (const site of this.#hubs.behind(id)) this.#look(site);
        this.#lookMeeting(id);
        for (const { spec, status } of this.#peerings.list()) if (spec.via !== undefined) this.#look(status?.siteId);
      }),
      heard.onChange((id) => {
        this.#look(id);
        for (const site of this.#hubs.behind(id)) this.#look(site);
        introductions.keepOnly(id, heard.get(id)?.facts?.introduces ?? []);
        this.#lookMeeting(id);
      }),
      introductions.onChange((site) => this.#look(site)),
      cards.onChange((from) => this.#look(from)),
      contracts.onChange((consumer) => {
        this.#look(consumer);
        this.#lookMeeting(consumer);
      }),
      twins.onChange((site, namespace) => {
        this.#look(site);
        for (const other of twins.sitesOf(namespace)) this.#look(other);
      }),
      nodes.onChange((name) => this.#look(nodes.get(name)?.site)),
      home.caches.open(Link).cache.addHandler({
        onAdd: (link) => {
          this.#lookLed(link.spec.site);
          this.#lookSharing(link);
        },
        onUpdate: (old, link) => {
          const { spec, status } = link;
          if (old.status?.endpoint !== status?.endpoint || old.status?.way !== status?.way) this.#lookLed(spec.site);
          if (old.spec.publicKey !== spec.publicKey || old.spec.nextKey !== spec.nextKey) {
            this.#lookKeyless();
            this.#lookSharing(link);
          }
        },
        onDelete: ({ spec }) => {
          this.#lookLed(spec.site);
          this.#lookKeyless();
        },
      }),
      followed(this.#exports, () => this.#lookAtAll()),
      followed(this.#imports, () => this.#lookAtAll()),
    ];
    this.#lookAtAll();
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      for (const each of release) each();
      this.#pods.keepOnly(new Set());
    }
  }

  async #reconcile(site: SiteId, signal: AbortSignal): Promise<Result> {
    const entries = entriesFor(this.#exports.list(), siteNames(site, this.#sites.list()));
    const imported = this.#importedOf(site);
    const own = this.#own(site, [...entries, ...[...imported.values()].flat()]);
    const word = this.#wordOf(site);
    const isAsked = own !== undefined && this.#isWanted(site, word);
    const introducers = own === undefined ? [] : this.#meetings.introducersOf(site, own.pools);
    if (own === undefined || (!isAsked && introducers.length === 0)) {
      await this.#removeLink(site, signal);
      await this.#plans.remove(site, signal);
      this.#parties.followPods();
      return await this.#tell(site, undefined, signal);
    }
    await this.#options.key.ensure(signal);
    const said = !isAsked || word === "unknown" ? undefined : word.facts;
    // Its own word first, then what it has signed for others to bring.
    const facts = said ?? newestCard(introducers)?.facts;
    // What a peer has said holds while it is silent, and not when it has taken it back.
    const isSilent = word === "unknown" || introducers.length > 0;
    const before = isSilent || facts !== undefined ? this.#plans.get(site)?.spec : undefined;
    const others = isAsked ? this.#meetings.othersOf(site) : [];
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
    const holder = facts && this.#holders.other(site, facts, isAsked);
    await this.#plans.say(plan, planStatus(plan, this.#options.home.clock.now(), holder), signal);
    const asked = isAsked ? this.#hubs.wanted(site) : undefined;
    const hubs = asked === undefined ? this.#hubs.leadingTo(site) : [];
    const keyed = facts && this.#holders.withoutOthers(site, facts, isAsked);
    const heard = keyed && linkPath(site, keyed, asked, hubs, (hub) => this.#hubs.sight(hub, site));
    const path = heard ?? (isSilent ? this.#links.get(site)?.spec : undefined);
    const introduces = others.map((other) => other.site);
    if (path === undefined || holder !== undefined || !isUsable(spec)) await this.#removeLink(site, signal);
    else {
      const groups = [
        ...(isAsked ? await this.#parties.groups(site, spec, entries, imported, signal) : []),
        ...introducedGroups(spec, introducers, this.#guests.list(), this.#links.get(site)?.spec.groups),
      ];
      const tcp = await this.#carried(site, path, facts);
      const guests = {
        addresses: guestAddresses(spec, this.#parties.guestsOf(site)),
        names: this.#names.ofHome(spec, own, word),
      };
      const machines = this.#isProvider(site) ? own.machines : [];
      const link = forgeLink(site, path, own, groups, introduces, tcp, guests, machines);
      await this.#orUnlinked(site, signal, this.#links.keep(site, link, signal));
    }
    this.#parties.followPods();
    if (!isAsked) return await this.#tell(site, undefined, signal);
    const { ownKey: publicKey = this.#options.key.publicKey ?? "", nextKey } = this.#links.get(site)?.status ?? {};
    const [hub] = hubs;
    const relay = asked === undefined ? {} : { relay: { hub: asked, port: own.port } };
    const fallback = hub === undefined ? {} : { fallback: { hub, port: own.port } };
    const led = leadsTo(this.#options.own.object(), site, this.#sites.list(), this.#links.names(), introduces);
    const links = this.#links.names().flatMap((name) => this.#links.get(name) ?? []);
    const told = {
      publicKey,
      ...(nextKey !== undefined && { nextKey }),
      ...this.#options.key.proven({ publicKey, nextKey }, this.#links.get(site)?.spec, this.#options.home.identity.id),
      endpoints: own.endpoints,
      lanes: own.lanes,
      exports: exportFacts(entries),
      leadsTo: led,
      sights: sightsOf(led, links),
      tcp: true as const,
      introduces,
      calls: this.#names.calls(introduces),
    };
    const meets = takesPart(this.#options.own.object()) ? ({ meets: true } as const) : {};
    return await this.#tell(site, factsOf(spec, { ...told, ...meets, ...relay, ...fallback }), signal);
  }

  #wordOf(site: SiteId): PeerWord {
    return peerWord(site, this.#options.heard, this.#options.sites);
  }

  #tell(site: SiteId, facts: NetworkFacts | undefined, signal: AbortSignal): Promise<Result> {
    return tellPeer({ sites: this.#options.sites, peerings: this.#peerings, told: this.#told }, site, facts, signal);
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

  /** Sites that this one leads to another: they are told. */
  #lookLed(site: SiteId): void {
    const linked = this.#links.names();
    const introduced = (this.#plans.get(site)?.spec.others ?? []).map((other) => other.site);
    for (const other of leadsTo(this.#options.own.object(), site, this.#sites.list(), linked, introduced))
      this.#look(other);
  }

  /** Sites that have a key of a Link too, which whoever proves it has had them lose. */
  #lookSharing(link: Link): void {
    for (const site of this.#holders.sharing(link)) this.#look(site);
  }

  /** Sites whose key another one had: it may be theirs now. */
  #lookKeyless(): void {
    for (const name of this.#plans.names())
      if (getCondition(this.#plans.get(name)?.status?.conditions, "Ready")?.reason === "KeyTaken") this.#look(name);
  }

  /** Sites that a consumer has introduced here; and those around a provider that now takes part, or no longer. */
  #lookMeeting(site: SiteId): void {
    for (const introduced of this.#meetings.introducedBy(site)) this.#look(introduced);
    const word = this.#wordOf(site);
    const meets = word !== "unknown" && word.facts?.meets === true;
    if (meets === this.#meeting.has(site)) return;
    if (meets) this.#meeting.add(site);
    else this.#meeting.delete(site);
    for (const other of this.#meetings.around(site)) this.#look(other);
  }

  /** What namespaces with guests at a site import of this one. */
  #importedOf(site: SiteId): Map<string, ExportEntry[]> {
    const { home, twins } = this.#options;
    const { id } = home.identity;
    const names = siteNames(id, this.#sites.list());
    const shared = new Set(twins.namespacesAt(site));
    const imports = this.#imports.list().filter(({ metadata }) => shared.has(metadata.namespace ?? ""));
    return ownImports(this.#exports.list(), imports, { id, names });
  }

  #own(site: SiteId, entries: readonly ExportEntry[]): OwnNetwork | undefined {
    const { own, serviceRanges } = this.#options;
    const object = own.object();
    const standing = this.#isProvider(site) ? machineRanges(object) : [];
    const ranges = new Set([...exportRanges(entries), ...standing]);
    return ownNetwork(object, own.nodes(), serviceRanges, [...ranges]);
  }

  /** Whether the owner asks for a link with it by a Peering. */
  #isProvider(site: SiteId): boolean {
    return this.#peerings
      .list()
      .some((peering) => peering.spec.link && peering.status?.siteId === site && !isBeingDeleted(peering));
  }

  /** A consumer asks by its Peering; a provider serves whoever has a contract and asks. */
  #isWanted(site: SiteId, word: PeerWord): boolean {
    if (this.#isProvider(site)) return true;
    if (this.#options.contracts.of(site).length === 0) return false;
    return word === "unknown" ? this.#plans.get(site) !== undefined : word.facts !== undefined;
  }

  #look(site: SiteId | undefined): void {
    if (site !== undefined) this.#controller.enqueue({ name: site });
  }

  #lookAtAll(): void {
    for (const name of new Set([...this.#plans.names(), ...this.#links.names()])) this.#look(name);
    for (const { id } of this.#options.sites.list()) this.#look(id);
  }
}

/** Calls for whatever becomes of an object but its conditions. */
function followed<T extends Export | Import>(cache: Cache<T>, changed: () => void): () => void {
  return cache.addHandler({
    onAdd: changed,
    onUpdate: (before, now) => {
      const { conditions: _, ...old } = before.status ?? {};
      const { conditions: __, ...fresh } = now.status ?? {};
      if (
        !sameContent(
          [before.spec, old, before.metadata.deletionTimestamp],
          [now.spec, fresh, now.metadata.deletionTimestamp],
        )
      )
        changed();
    },
    onDelete: changed,
  });
}
