import { AddressPlan, CONSUMER_LABEL, Export, Import, Link, Peering, Site, type StatusOf } from "@fjord/api";
import {
  againAfter,
  type Cache,
  type Controller,
  done,
  generationChanged,
  isBeingDeleted,
  type Node,
  Pod,
  type Result,
  type Runnable,
  sameContent,
  setCondition,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import type { LiveContracts } from "../live-contracts.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import type { CalledRange, NetworkFacts, NetworkWord } from "../protocol.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import type { Twins } from "../twins.ts";
import type { VirtualNodes } from "../virtual-nodes.ts";
import { addressPlan, calledRanges, factsOf, isUsable, planReason } from "./address-plan.ts";
import { type ExportEntry, entriesFor, exportFacts, exportRanges, siteNames } from "./export-entries.ts";
import {
  consumerGroups,
  exporterGroups,
  guestAddresses,
  importerGroups,
  machineGroups,
  providerGroups,
} from "./groups.ts";
import { digestOf, type HeardNetworks } from "./heard-networks.ts";
import { elsewhereNames, homeNames } from "./home-names.ts";
import type { CardsBetween } from "./introductions/cards-between.ts";
import type { HeardIntroductions } from "./introductions/heard-introductions.ts";
import { introducedGroups, newestCard } from "./introductions/introducers.ts";
import { Meetings } from "./introductions/meetings.ts";
import type { IpRange } from "./ip-range.ts";
import { forgeLink, type LinkPath, linkPath } from "./link-forge.ts";
import type { LinkKey } from "./link-key.ts";
import { NamespacePods } from "./namespace-pods.ts";
import type { Group, Naming } from "./network-state.ts";
import { leadsTo, sightsOf } from "./network-state-of.ts";
import { machineRanges, type OwnNetwork, ownNetwork, takesPart } from "./own-network.ts";
import { OwnObjects } from "./own-objects.ts";
import { type PeerWord, peerWord } from "./peer-word.ts";
import { parseCidrs } from "./ranges.ts";
import type { TcpCarrier } from "./tcp/tcp-carrier.ts";

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

/** The gateway uses another key, which peers are to be told. */
const keyChanged = updatesWhere<Link>((old, { status }) => old.status?.ownKey !== status?.ownKey);

const REFUSED_MS = 15_000;
const LOST_MS = 1_000;

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
  readonly #meetings: Meetings;
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
    const wordOf = (site: SiteId) => peerWord(site, options.heard, options.sites);
    this.#meetings = new Meetings({ ...options, plans: own, peerings, heard: introductions, wordOf });
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
        this.#lookBehind(id);
        this.#lookMeeting(id);
        for (const { spec, status } of this.#peerings.list()) if (spec.via !== undefined) this.#look(status?.siteId);
      }),
      heard.onChange((id) => {
        this.#look(id);
        this.#lookBehind(id);
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
        onAdd: ({ spec }) => this.#lookLed(spec.site),
        onUpdate: (old, { spec, status }) => {
          if (old.status?.endpoint !== status?.endpoint || old.status?.way !== status?.way) this.#lookLed(spec.site);
        },
        onDelete: ({ spec }) => this.#lookLed(spec.site),
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
    const own = this.#own(site, entries);
    const word = peerWord(site, this.#options.heard, this.#options.sites);
    const isAsked = own !== undefined && this.#isWanted(site, word);
    const introducers = own === undefined ? [] : this.#meetings.introducersOf(site, own.pools);
    if (own === undefined || (!isAsked && introducers.length === 0)) {
      await this.#removeLink(site, signal);
      await this.#plans.remove(site, signal);
      this.#followPods();
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
      others: this.#namesOfOthers(site),
      words: this.#wordsOfConsumers(),
      ...(facts && { facts }),
      ...(before && { before }),
      meetings: {
        ...(introducers.length > 0 && { introducedBy: introducers.map(({ consumer }) => consumer) }),
        ...(!isAsked && { scope: "Guests" }),
        ...(others.length > 0 && { others }),
      },
    });
    const plan = await this.#plans.keep(site, spec, signal);
    // Guests' homes have words for it, and providers are told those of this site.
    if (!sameContent(before?.peer, spec.peer))
      for (const other of [...this.#meetings.around(site), ...(spec.introducedBy ?? [])]) this.#look(other);
    await this.#plans.say(plan, planStatus(plan, this.#options.home.clock.now()), signal);
    const asked = isAsked ? this.#hubOf(site) : undefined;
    const hubs = asked === undefined ? this.#hubsTo(site) : [];
    const heard = facts && linkPath(site, facts, asked, hubs, (hub) => this.#sight(hub, site));
    const path = heard ?? (isSilent ? this.#links.get(site)?.spec : undefined);
    const introduces = others.map((other) => other.site);
    if (path === undefined || !isUsable(spec)) await this.#removeLink(site, signal);
    else {
      const groups = [
        ...(isAsked ? await this.#groups(site, spec, entries, signal) : []),
        ...introducedGroups(spec, introducers, this.#guests.list(), this.#links.get(site)?.spec.groups),
      ];
      const tcp = await this.#carried(site, path, facts);
      const guests = { addresses: guestAddresses(spec, this.#guestsOf(site)), names: this.#homeNames(spec, own, word) };
      const machines = this.#isProvider(site) ? own.machines : [];
      await this.#links.keep(site, forgeLink(site, path, own, groups, introduces, tcp, guests, machines), signal);
    }
    this.#followPods();
    if (!isAsked) return await this.#tell(site, undefined, signal);
    const publicKey = this.#links.get(site)?.status?.ownKey ?? this.#options.key.publicKey ?? "";
    const [hub] = hubs;
    const relay = asked === undefined ? {} : { relay: { hub: asked, port: own.port } };
    const fallback = hub === undefined ? {} : { fallback: { hub, port: own.port } };
    const led = leadsTo(this.#options.own.object(), site, this.#sites.list(), this.#links.names(), introduces);
    const links = this.#links.names().flatMap((name) => this.#links.get(name) ?? []);
    const told = {
      publicKey,
      endpoints: own.endpoints,
      lanes: own.lanes,
      exports: exportFacts(entries),
      leadsTo: led,
      sights: sightsOf(led, links),
      tcp: true as const,
      introduces,
      calls: this.#calls(introduces),
    };
    const meets = takesPart(this.#options.own.object()) ? ({ meets: true } as const) : {};
    return await this.#tell(site, factsOf(spec, { ...told, ...meets, ...relay, ...fallback }), signal);
  }

  async #removeLink(site: SiteId, signal: AbortSignal): Promise<void> {
    this.#options.carrier.close(site);
    await this.#links.remove(site, signal);
  }

  /** Where the gateway may give packets to the agent, if the peer's agent takes them; what was said before holds while that is silent. */
  async #carried(site: SiteId, { via }: LinkPath, facts: NetworkFacts | undefined): Promise<string | undefined> {
    const before = this.#links.get(site)?.spec.tcp?.endpoint;
    const isTaken = facts === undefined ? before !== undefined : facts.tcp === true;
    const endpoint = isTaken && via === undefined ? await this.#options.carrier.open(site, before) : undefined;
    if (endpoint === undefined) this.#options.carrier.close(site);
    return endpoint;
  }

  /** Sites with links here that say that they lead to another one, in the order in which both ends see them. */
  #hubsTo(site: SiteId): SiteId[] {
    const before = this.#links.get(site)?.spec.fallback?.site;
    return this.#links
      .names()
      .filter((hub) => {
        if (hub === site || this.#links.get(hub)?.spec.via !== undefined) return false;
        const word = peerWord(hub, this.#options.heard, this.#options.sites);
        return word === "unknown" ? hub === before : word.facts?.leadsTo?.includes(site) === true;
      })
      .sort();
  }

  /** Where a hub hears of a site. */
  #sight(hub: SiteId, site: SiteId): string | undefined {
    const word = peerWord(hub, this.#options.heard, this.#options.sites);
    const before = this.#links.get(site)?.spec.fallback;
    if (word === "unknown") return before?.site === hub ? before.seenAt : undefined;
    return word.facts?.sights?.find((each) => each.site === site)?.endpoint;
  }

  /** Sites that this one leads to another: they are told. */
  #lookLed(site: SiteId): void {
    const linked = this.#links.names();
    const introduced = (this.#plans.get(site)?.spec.others ?? []).map((other) => other.site);
    for (const other of leadsTo(this.#options.own.object(), site, this.#sites.list(), linked, introduced))
      this.#look(other);
  }

  /** Sites that another one leads to, or has led to. */
  #lookBehind(hub: SiteId): void {
    const word = peerWord(hub, this.#options.heard, this.#options.sites);
    for (const site of (word !== "unknown" && word.facts?.leadsTo) || []) this.#look(site);
    for (const site of this.#links.names()) if (this.#links.get(site)?.spec.fallback?.site === hub) this.#look(site);
  }

  /** Sites that a consumer has introduced here; and those around a provider that now takes part, or no longer. */
  #lookMeeting(site: SiteId): void {
    for (const introduced of this.#meetings.introducedBy(site)) this.#look(introduced);
    const word = peerWord(site, this.#options.heard, this.#options.sites);
    const meets = word !== "unknown" && word.facts?.meets === true;
    if (meets === this.#meeting.has(site)) return;
    if (meets) this.#meeting.add(site);
    else this.#meeting.delete(site);
    for (const other of this.#meetings.around(site)) this.#look(other);
  }

  /** Through which site the owner wants to reach another one, if through any. */
  #hubOf(site: SiteId): SiteId | undefined {
    const peering = this.#peerings.list().find(({ spec, status }) => spec.link && status?.siteId === site);
    const hub = peering?.spec.via === undefined ? undefined : this.#sites.get({ name: peering.spec.via });
    return hub?.status?.id ?? hub?.spec.id;
  }

  /** A consumer says by itself what its provider may not be able to ask, unless that has heard it already. */
  async #tell(site: SiteId, facts: NetworkFacts | undefined, signal: AbortSignal): Promise<Result> {
    const remote = this.#options.sites.get(site);
    const isConsumer = this.#peerings.list().some(({ status }) => status?.siteId === site);
    if (!isConsumer || remote?.report === undefined || !remote.reachability.reachable) return done();
    if (remote.report.networkHeard === (facts && digestOf(facts))) return done();
    const word: NetworkWord = { network: facts ?? null };
    try {
      await remote.call("PUT", "/network", word, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // One of before there were links knows nothing of it; one that was cut off is told when it is back.
      return againAfter(error instanceof PeerRefused ? REFUSED_MS : LOST_MS);
    }
    remote.refresh();
    return done();
  }

  /** As consumer: what ranges of others are called here. */
  #calls(sites: readonly SiteId[]): CalledRange[] {
    return sites.flatMap((site) =>
      (this.#plans.get(site)?.spec.peer ?? []).flatMap(({ range, called }) =>
        called === undefined ? [] : [{ site, range, called }],
      ),
    );
  }

  /** As provider: what a consumer calls otherwise. What it has said holds while it is silent. */
  #homeNames(plan: AddressPlan["spec"], own: OwnNetwork, word: PeerWord): Naming[] {
    const before = this.#links.get(plan.site)?.spec.guests?.names;
    if (word === "unknown" && before !== undefined)
      return before.flatMap(({ range, called }) => (called === undefined ? [] : [{ range, called }]));
    const calls = word === "unknown" ? [] : (word.facts?.calls ?? []);
    const planOf = (site: SiteId) => {
      const spec = this.#plans.get(site)?.spec;
      return spec?.introducedBy?.includes(plan.site) ? spec : undefined;
    };
    return homeNames(plan, own.taken, elsewhereNames(calls, planOf));
  }

  /** What consumers call what is here, and what is elsewhere: names of this site had better be others. */
  #wordsOfConsumers(): IpRange[] {
    const words = this.#plans.names().flatMap((site) => {
      const word = peerWord(site, this.#options.heard, this.#options.sites);
      const calls = word === "unknown" ? [] : (word.facts?.calls ?? []);
      return [...(this.#plans.get(site)?.spec.own ?? []), ...calls];
    });
    return parseCidrs(words.flatMap(({ called }) => called ?? []));
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

  #namesOfOthers(site: SiteId) {
    return this.#plans.names().flatMap((name) => {
      const plan = name === site ? undefined : this.#plans.get(name);
      return plan === undefined ? [] : calledRanges(plan.spec);
    });
  }

  async #groups(
    site: SiteId,
    plan: AddressPlan["spec"],
    entries: readonly ExportEntry[],
    signal: AbortSignal,
  ): Promise<Group[]> {
    const { twins, nodes } = this.#options;
    const namespaces = await Promise.all(
      twins.namespacesAt(site).map(async (name) => ({
        name,
        pods: await this.#pods.in(name, signal),
        isThere: ({ spec }: Pod) => nodes.get(spec?.nodeName ?? "")?.site === site,
        isElsewhere: ({ spec }: Pod) => nodes.get(spec?.nodeName ?? "") !== undefined,
      })),
    );
    const importing = await Promise.all(
      this.#importing(site).map(async (name) => ({
        name,
        pods: (await this.#pods.in(name, signal)).filter(({ spec }) => nodes.get(spec?.nodeName ?? "") === undefined),
        addresses: this.#importsOf(site).flatMap(({ metadata, status }) =>
          metadata.namespace === name ? (status?.addresses ?? []) : [],
        ),
      })),
    );
    const groups = [
      ...consumerGroups(plan, namespaces),
      ...(this.#isProvider(site) && this.#options.own.object()?.spec.network?.machines ? machineGroups(plan) : []),
      ...providerGroups(plan, this.#guestsOf(site)),
      ...exporterGroups(plan, entries),
      ...importerGroups(plan, importing),
    ];
    return [...new Map(groups.map((group) => [group.name, group])).values()];
  }

  #guestsOf(consumer: SiteId): Pod[] {
    return this.#guests.list().filter(({ metadata }) => metadata.labels?.[CONSUMER_LABEL] === consumer);
  }

  #importsOf(site: SiteId): Import[] {
    return this.#imports
      .list()
      .filter(({ metadata, status }) => status?.siteId === site && metadata.deletionTimestamp === undefined);
  }

  /** Namespaces that import something of it. */
  #importing(site: SiteId): string[] {
    return [...new Set(this.#importsOf(site).map(({ metadata }) => metadata.namespace ?? ""))];
  }

  #followPods(): void {
    const namespaces = this.#links
      .names()
      .flatMap((site) => [...this.#options.twins.namespacesAt(site), ...this.#importing(site)]);
    this.#pods.keepOnly(new Set(namespaces));
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

const messages: Readonly<Record<ReturnType<typeof planReason>, string>> = {
  NamesKnown: "",
  RangesUnknown: "no Node tells a range of pods: say it in spec.network.podRanges of the own Site",
  AwaitingPeer: "the peer has not told its ranges, or what it calls those of this site",
  PoolExhausted: "spec.network.names of the own Site has no range left that is large enough",
};

function planStatus(plan: AddressPlan, now: number): StatusOf<typeof AddressPlan> {
  const reason = planReason(plan.spec);
  const { generation } = plan.metadata;
  const { conditions } = setCondition(
    plan.status?.conditions,
    {
      type: "Ready",
      status: reason === "NamesKnown" ? "True" : "False",
      reason,
      message: messages[reason],
      ...(generation !== undefined && { observedGeneration: generation }),
    },
    now,
  );
  return { ...plan.status, conditions };
}
