import type { GuestPrivilege } from "@fjord/api";
import type { Home } from "@fjord/continuum/home";
import { ContractBook, ContractRoutes, type ContractStore, ProviderContracts } from "@fjord/continuum/market";
import { GuestBudgets, GuestPods, TwinNamespaceController } from "@fjord/continuum/offload";
import {
  ExternalNames,
  IngressHosts,
  KubeProxy,
  leaderOnly,
  type OwnSite,
  objectPolicy,
  type PeerMetrics,
  type PeerRoute,
  StoredObjects,
  TENANT_CLUSTER_ROLE,
  TenantController,
  TenantObjects,
  TwinNamespaces,
} from "@fjord/continuum/peering";
import { GuestUsage } from "@fjord/continuum/telemetry";
import type { TenantAddresses } from "@fjord/continuum/tenant-addresses";
import { type ClusterConfig, Namespace, Node, type Runnable } from "@fjord/kube";

export interface ProviderSideOptions {
  readonly home: Home;
  readonly config: ClusterConfig;
  readonly own: OwnSite;
  readonly store: ContractStore;
  readonly metrics: PeerMetrics;
  /** Whether this process is the one of the site's agents that decides. */
  leads(): boolean;
  readonly guestPrivileges?: readonly GuestPrivilege[];
  readonly twinLabels?: Readonly<Record<string, string>>;
  /** Where objects of consumers may lead. */
  readonly addresses: TenantAddresses;
  /** Of the own cluster. */
  readonly domains: readonly string[];
}

export interface ProviderSide {
  readonly book: ContractBook;
  readonly contractRoutes: ContractRoutes;
  readonly routes: readonly PeerRoute[];
  readonly proxy: KubeProxy;
  readonly runnables: readonly Runnable[];
}

/** What makes a site a provider: contracts, tenants, the proxy, twin namespaces, guests. */
export function providerSide(options: ProviderSideOptions): ProviderSide {
  const { home, config, own, store, metrics, leads, addresses, domains } = options;
  const { twinLabels: labels = {}, guestPrivileges: allowed = [] } = options;
  const { clock, logger } = home;
  const book = new ContractBook({ home, store, ownSite: own.object });
  const contracts = new ProviderContracts({ home, store, book, used: (contract) => guests.used(contract) });
  const tenants = new TenantController({
    home,
    contracts: book,
    contractsKnown: () => store.fresh(),
    ownSite: own.object,
  });
  const contractRoutes = new ContractRoutes({ book, tenants, clock, logger });
  const namespaces = new TwinNamespaces({ ...home });
  const guests = new GuestPods({ home, contracts: book, allowed });
  const cordoned = home.caches.open(Node, { fieldSelector: "spec.unschedulable=true" }).cache;
  const patience = () => own.object()?.spec.sharing?.drainPatience ?? "10m";
  const budgets = new GuestBudgets({ client: home.client, cordoned, patience, clock, logger });
  // What a consumer may have twins of is for the owner of this site to say.
  const customResources = () => (own.object()?.spec.reflection ?? []).filter(({ policy }) => policy !== "Never");
  const stored = new StoredObjects({ client: home.client, namespacesOf: (id) => namespaces.of(id), customResources });
  const everyNamespace = home.caches.open(Namespace).cache;
  const isTwinOf = (consumer: string, namespace: string) => namespaces.isTwinOf(consumer, namespace);
  const proxy = new KubeProxy({
    config,
    tenants,
    customResources,
    budgetsHold: (namespace) => budgets.hold(namespace),
    objects: new TenantObjects({ policy: () => objectPolicy(own.object()), stored, clock, logger }),
    hosts: new IngressHosts({
      client: home.client,
      allowed: () => own.object()?.spec.sharing?.objects?.ingressHosts,
      namespacesOf: (id) => namespaces.of(id),
    }),
    addresses,
    externalNames: new ExternalNames({
      isTwinOf,
      hasNamespace: (name) => everyNamespace.get({ name }) !== undefined,
      addresses,
      domains,
    }),
    isTwinOf,
    isExpected: (consumer) => !store.complete || book.of(consumer).length > 0,
    onWritten: ({ path, verb, body }) => {
      if (path.resource !== "shadowpods" || path.namespace === undefined) return;
      guests.see({ verb, namespace: path.namespace, name: path.name ?? "", body: JSON.parse(body.toString("utf8")) });
    },
    peerMetrics: metrics,
    clock,
    logger,
  });
  const twins = new TwinNamespaceController({ home, tenants, role: TENANT_CLUSTER_ROLE, labels });
  const routes = [...contractRoutes.routes.map((route) => leaderOnly(route, leads)), new GuestUsage({ home }).route];
  return { book, contractRoutes, routes, proxy, runnables: [contracts, tenants, twins, guests, budgets] };
}
