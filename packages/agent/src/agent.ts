import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { AGENT_LEASE, Site } from "@fjord/api";
import { aborted } from "@fjord/base";
import { clusterDomains } from "@fjord/continuum/cluster-names";
import type { Home } from "@fjord/continuum/home";
import {
  IdentityKeeper,
  KeyStore,
  PairingTokens,
  PeerTls,
  pairRoute,
  redeemToken,
  type StoredIdentity,
  TokenRedeemer,
} from "@fjord/continuum/identity";
import { ContractStore } from "@fjord/continuum/market";
import { KnownAddresses, KnownTenantAddresses, LinkKey, serviceRanges } from "@fjord/continuum/network";
import { isOnLoopback } from "@fjord/continuum/network-proxy";
import {
  AdmissionConfiguration,
  AdmissionServer,
  admissionInForce,
  admissionReviews,
  KnownTwins,
  KnownVirtualNodes,
  loadChain,
} from "@fjord/continuum/offload";
import {
  LiveRemoteSites,
  leaderOnly,
  OwnSite,
  ParkedConnections,
  PeerServer,
  SiteController,
  SiteDirectory,
  siteRoute,
  TunnelDialler,
} from "@fjord/continuum/peering";
import { OwnApi } from "@fjord/continuum/telemetry";
import {
  EventRecorder,
  KubeClient,
  LeaderElector,
  Manager,
  prometheusMetrics,
  Registry,
  type Runnable,
  SharedCaches,
} from "@fjord/kube";
import { addressTowards, kubeletVersion } from "@fjord/node/registration";
import { AgentLease } from "./agent-lease.ts";
import { agentMetrics } from "./agent-metrics.ts";
import type { AgentOptions } from "./agent-options.ts";
import { explainedError } from "./cannot-listen.ts";
import { carriedMetrics } from "./carried-metrics.ts";
import { consumerSide } from "./consumer-side.ts";
import { HealthServer } from "./health-server.ts";
import { discoverHomeApi, serviceAddress } from "./home-api.ts";
import { type NetworkSide, networkSide } from "./network-side.ts";
import { OwnSiteObject } from "./own-site-object.ts";
import { PageServer } from "./page/page-server.ts";
import { patiently } from "./patience.ts";
import { providerSide } from "./provider-side.ts";
import { proxySide } from "./proxy-side.ts";
import { stateMetrics } from "./state-metrics.ts";
import { tcpMetrics } from "./tcp-metrics.ts";
import { FJORD_VERSION } from "./version.ts";

export type { AgentOptions } from "./agent-options.ts";

/** A site has one agent, and much waits for it: an API that was away is asked again sooner than by others. */
const HOME_TIMING = { backoffInitialMs: 200, backoffMaxMs: 3_000 } as const;

/** For requests to the own API at once: what an API server has to do at once does not grow with more, and each keeps memory. */
const CONNECTIONS = 8;

/** What is kept of one other site: a part of the memory that there is, since one that means harm would fill all of it. */
function roomBytes(): number {
  return Math.max(128 * 2 ** 20, process.getBuiltinModule("node:v8").getHeapStatistics().heap_size_limit / 4);
}

/** The agent of a site: one process that makes the domains of the continuum work together. */
export class Agent {
  readonly #options: AgentOptions;
  // Two of one machine are two.
  readonly #identity = `${hostname()}_${randomUUID()}`;

  constructor(options: AgentOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts. Everything that must last is in the site's own API: the next run goes on from there. */
  async run(signal: AbortSignal): Promise<void> {
    const { config, namespace, siteName, logger } = this.#options;
    await using client = new KubeClient(config, {
      closeGraceMs: 2_000,
      connections: CONNECTIONS,
      shareWatches: true,
    });
    const named = { ...(siteName !== undefined && { name: siteName }), signal };
    const stored = await patiently(() => KeyStore.load(client, namespace, named), { ...this.#options, signal });
    logger.info("the agent starts", {
      site: stored.name,
      id: stored.key.id,
      version: FJORD_VERSION,
      server: config.server,
    });
    try {
      const manager = await this.#compose(client, stored, signal);
      await manager.run(signal);
    } catch (error) {
      throw explainedError(error);
    }
  }

  async #compose(client: KubeClient, { key, name, formerName }: StoredIdentity, signal: AbortSignal): Promise<Manager> {
    const { config, namespace, listen, endpoints, tier, clock, random, logger } = this.#options;
    const registry = new Registry();
    const metrics = prometheusMetrics(registry);
    const counters = agentMetrics(registry);
    const shared = { client, clock, random, logger };
    const caches = new SharedCaches({ ...shared, timing: HOME_TIMING });
    stateMetrics(registry, caches);
    const recorder = new EventRecorder({ ...shared, component: "fjord-agent", metrics });
    const home: Home = { ...shared, metrics, identity: key, caches, recorder, namespace };
    const address = this.#options.internalAddress ?? (await addressTowards(config.server));
    const patience = { clock, random, logger, signal };
    const serverVersion = await patiently(() => versionOf(client, signal), patience);
    const named = { namespace, name, id: key.id, ...(formerName && { formerName }) };
    const ownSite = new OwnSiteObject({ client, logger, ...named, endpoints, ...(tier && { tier }) });
    await patiently(() => ownSite.ensure(signal), patience);

    const own = new OwnSite({
      home,
      siteName: name,
      version: FJORD_VERSION,
      kubernetesVersion: () => serverVersion,
      make: (stop) => ownSite.keep(stop),
    });
    const tls = new PeerTls({ key, clock, logger, refused: counters.certificateRefused });
    const directory = new SiteDirectory(caches.open(Site).cache, key.id);
    // One that is being forgotten may ask for nothing any more, and yet has to be told what ends.
    const knownSites = {
      get: (id: string) => directory.find(id),
      onChange: (listener: (id: string) => void) => directory.onChange(listener),
    };
    const parked = new ParkedConnections({ clock });
    const remotes = new LiveRemoteSites({
      sites: knownSites,
      tls,
      parked,
      clock,
      random,
      logger,
      roomBytes: roomBytes(),
    });
    const store = new ContractStore(home);
    const { guestPrivileges = [] } = this.#options;
    let leads = false;
    const ranges = await patiently(() => serviceRanges(client, signal), patience);
    const resolvConf = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
    const tenantAddresses = new KnownTenantAddresses({
      home,
      own,
      serviceRanges: ranges,
      isLinked: (consumer) => network.isLinked(consumer),
    });
    const mayHave = (site: string, of: string) => tenantAddresses.outsideProblem(site, of) === undefined;
    const provider = providerSide({
      home,
      config,
      own,
      store,
      metrics: counters.peers,
      leads: () => leads,
      twinLabels: this.#options.twinLabels ?? {},
      guestPrivileges,
      addresses: tenantAddresses,
      domains: clusterDomains(resolvConf),
    });
    const known = { nodes: new KnownVirtualNodes(caches), twins: new KnownTwins(caches) };
    // Pods are processes of this machine where the own Services are on its loopback.
    const proxied = isOnLoopback(await patiently(() => serviceAddress(client, signal), patience));
    const nameOf = (id: string) => directory.find(id)?.metadata.name ?? id;
    const network: NetworkSide = networkSide({
      ...known,
      home,
      own,
      remotes,
      contracts: provider.book,
      key: await patiently(() => LinkKey.load(client, namespace, signal), patience),
      serviceRanges: ranges,
      address,
      metrics: tcpMetrics(registry, nameOf),
      proxied,
    });
    const proxy = proxied
      ? proxySide({
          ...known,
          home,
          own,
          remotes,
          contracts: provider.book,
          mayHave,
          metrics: carriedMetrics(registry, nameOf),
          ...(this.#options.clients && { clients: this.#options.clients }),
        })
      : undefined;
    const tokens = new PairingTokens({ client, namespace, clock, logger });
    const ownApi = new OwnApi({ client, clock, logger });
    const about = () => ({ name, endpoints: own.endpoints() });
    const redeem = (token: string, siteName: string, stop: AbortSignal) =>
      redeemToken(token, {
        tls,
        client,
        siteName: name,
        endpoints: own.endpoints(),
        name: siteName,
        signal: stop,
      }).then(({ spec }) => ({ id: spec.id ?? "" }));
    const server = new PeerServer({
      tls,
      siteOf: (id) => directory.get(id),
      isParting: (id) => directory.find(id) !== undefined,
      routes: [
        ownApi.guard(
          siteRoute({
            id: key.id,
            publicKey: key.publicKey,
            published: () => own.published(),
            endpoints: () => own.endpoints(),
            shared: () => provider.book.shared()?.shared,
            free: () => provider.book.shared()?.free,
            guestPrivileges,
            contractsOf: (consumer) => provider.contractRoutes.contractsOf(consumer),
            networkFor: (site) => (proxy === undefined ? network.told.to(site) : undefined),
            loopbackFor: (site) => proxy?.controller.toldTo(site),
            networkHeard: (site) => network.heard.digestOf(site),
            introductionsOf: (consumer) => network.introductions.tokensFor(consumer),
          }),
        ),
        pairRoute({
          client,
          tokens,
          site: key.id,
          siteName: name,
          about,
          clock,
          logger,
          refused: counters.pairingRefused,
        }),
        leaderOnly(network.heard.route, () => leads),
        leaderOnly(network.introductions.route, () => leads),
        ...provider.routes,
      ],
      rawRoutes: [provider.proxy, parked, proxy?.route ?? network.carrier],
      host: listen.host,
      port: listen.port,
      peerMetrics: counters.peers,
      clock,
      random,
      logger,
    });
    const dialler = new TunnelDialler({
      tls,
      peers: () =>
        own.endpoints().length > 0
          ? []
          : directory
              .list()
              // Guests there may ask for pods here, too.
              .filter(({ spec }) => spec.mayConsume || proxy?.controller.toldTo(spec.id ?? "") !== undefined)
              .filter(({ spec }) => (spec.endpoints ?? []).length > 0)
              .map(({ spec }) => ({ id: spec.id ?? "", endpoints: spec.endpoints ?? [] })),
      onPeersChange: (listener) => {
        const release = [
          directory.onChange(() => listener()),
          own.onChange(listener),
          ...(proxy ? [proxy.addresses.onChange(() => listener())] : []),
        ];
        return () => {
          for (const each of release) each();
        };
      },
      serve: (socket, caller) => server.serve(socket, caller),
      clock,
      random,
      logger,
    });
    const clientCa = config.tls.ca;
    const homeApi =
      this.#options.homeApi ?? (await patiently(() => discoverHomeApi(client, config.server, signal), patience));
    if (homeApi === undefined) {
      const { homeApiOption: option = "--home-api" } = this.#options;
      logger.warn("pods at other sites are not told where the own API is", { option });
    }
    const consumer = consumerSide({
      home,
      remotes,
      store,
      redeem,
      reflectionCounters: counters.reflection,
      address,
      ...known,
      addresses: proxy?.addresses ?? new KnownAddresses(home, mayHave),
      kubeletVersion: kubeletVersion(serverVersion, FJORD_VERSION),
      ...(clientCa !== undefined && { clientCa }),
      ...(homeApi !== undefined && { homeApi }),
    });
    const { target, names } = admissionTarget(this.#options, address);
    const { current } = await patiently(() => loadChain(client, namespace, names, clock.now(), signal), patience);
    const admission = new AdmissionServer({
      host: address,
      port: this.#options.admissionPort,
      tls: current,
      reviews: admissionReviews(home),
      logger,
    });
    const configuration = new AdmissionConfiguration({ home, client: target, names });
    configuration.onPair((pair) => admission.use(pair));

    const manager = new Manager({ clock, logger, ...this.#election(home) });
    manager.addCache(caches);
    manager.addReadyCheck("admission", admissionInForce(home));
    manager.add(
      new HealthServer({
        listen: this.#options.metrics,
        health: manager.health,
        ready: manager.ready,
        metrics: registry,
        logger,
      }),
    );
    const { page } = this.#options;
    if (page !== undefined) manager.add(new PageServer({ ...page, ...shared, site: key.id, namespace }));
    const plain: Runnable[] = [
      { name: "certificates", early: true, run: (stop) => tls.run(stop) },
      { name: "remote sites", run: (stop) => remotes.run(stop) },
      { name: "peer server", run: (stop) => server.run(stop) },
      { name: "tunnel", run: (stop) => dialler.run(stop) },
      {
        name: "leadership",
        needsLeaderElection: true,
        run: async (stop) => {
          leads = true;
          try {
            // Whoever led until now may be called otherwise, and have made a Site of that name.
            if (this.#options.leaderElect) await patiently(() => ownSite.keep(stop), { ...patience, signal: stop });
            await aborted(stop);
          } catch (error) {
            if (!stop.aborted) throw error;
          } finally {
            leads = false;
          }
        },
      },
      ...(this.#options.leaderElect ? [] : [new AgentLease(home, this.#identity)]),
      { name: "pairing tokens", needsLeaderElection: true, run: (stop) => tokens.run(stop) },
    ];
    const redeemer = new TokenRedeemer({ home, tls, siteName: name, endpoints: () => own.endpoints() });
    const sites = new SiteController({ home, own, sites: remotes, book: provider.book });
    for (const runnable of [
      recorder,
      admission,
      configuration,
      ...plain,
      new IdentityKeeper({ home, stored: { key, name } }),
      sites,
      redeemer,
      ...provider.runnables,
      ...consumer,
      ...network.controllers,
      ...(proxy?.runnables ?? []),
    ])
      manager.add(runnable);
    return manager;
  }

  #election({ client, clock, random, logger, metrics, namespace }: Home) {
    const { leaderElect, leaseDurationMs = 15_000 } = this.#options;
    if (!leaderElect) return {};
    const identity = this.#identity;
    const means = { client, clock, random, logger, ...(metrics && { metrics }) };
    // In the proportions that Kubernetes' own components keep.
    const timing = {
      leaseDurationMs,
      renewDeadlineMs: (leaseDurationMs * 2) / 3,
      retryPeriodMs: (leaseDurationMs * 2) / 15,
    };
    return { leaderElection: new LeaderElector({ ...means, ...timing, namespace, name: AGENT_LEASE, identity }) };
  }
}

/** Where the own API server reaches the admission servers, and what it calls them. */
function admissionTarget({ admissionPort, admissionService, namespace }: AgentOptions, address: string) {
  const host = address.includes(":") ? `[${address}]` : address;
  if (admissionService === undefined) return { target: { url: `https://${host}:${admissionPort}` }, names: [address] };
  const { name, port } = admissionService;
  return { target: { service: { name, namespace, port } }, names: [`${name}.${namespace}.svc`] };
}

async function versionOf(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const { body } = await client.raw("GET", "/version", { signal });
  return (JSON.parse(body.toString("utf8")) as { gitVersion?: string }).gitVersion;
}
