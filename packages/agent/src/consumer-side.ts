import type { Addresses } from "@fjord/continuum/addresses";
import type { Home } from "@fjord/continuum/home";
import {
  type ConsumerContracts,
  type ContractStore,
  ConsumerContracts as Contracts,
  Negotiation,
} from "@fjord/continuum/market";
import {
  KnownOffloadings,
  type KnownTwins,
  type KnownVirtualNodes,
  OffloadingController,
  OffloadingRuleController,
  PodOffloader,
  VirtualNodeController,
} from "@fjord/continuum/offload";
import { PeeringController, type Redeem, type RemoteSites } from "@fjord/continuum/peering";
import { Reflection, type ReflectionCounters } from "@fjord/continuum/reflect";
import { RemoteUsage } from "@fjord/continuum/telemetry";
import type { Runnable } from "@fjord/kube";
import type { HomeApi } from "./home-api.ts";

export interface ConsumerSideOptions {
  readonly home: Home;
  readonly remotes: RemoteSites;
  readonly store: ContractStore;
  readonly redeem: Redeem;
  readonly reflectionCounters?: ReflectionCounters;
  /** Where the own API server reaches this process. */
  readonly address: string;
  readonly kubeletVersion: string;
  /** PEM of the authority whose client certificates the kubelet APIs believe. */
  readonly clientCa?: string;
  /** Where pods at other sites reach the own API. */
  readonly homeApi?: HomeApi;
  readonly addresses: Addresses;
  readonly nodes: KnownVirtualNodes;
  readonly twins: KnownTwins;
}

/** What makes a site a consumer: peerings, virtual nodes, twins of its namespaces, its pods elsewhere. */
export function consumerSide(options: ConsumerSideOptions): Runnable[] {
  const { home, remotes, store, redeem, reflectionCounters: counters, homeApi, addresses, nodes, twins } = options;
  const negotiation = new Negotiation({ home, store });
  const contracts: ConsumerContracts = new Contracts({ home, store, sites: remotes, negotiation });
  const peerings = new PeeringController({ home, sites: remotes, store, negotiation, contracts, redeem });
  const offloaded = new KnownOffloadings(home);
  const pods = new PodOffloader({
    home,
    nodes,
    twins,
    sites: remotes,
    addresses,
    isReadyFor: (pod, site) => reflection.isReadyFor(pod, site),
    isOffloaded: async (namespace, signal) => (await offloaded.specFor(namespace, signal)) !== undefined,
    ...(homeApi && { homeApi }),
  });
  const usage = new RemoteUsage({ home, remotes, pods, nodes });
  const virtualNodes = new VirtualNodeController({
    ...options,
    nodes,
    pods,
    summary: (node) => usage.summary(node),
  });
  const offloadings = new OffloadingController({ home, remotes, pods, nodes });
  const rules = new OffloadingRuleController({ home });
  const reflection: Reflection = new Reflection({
    home,
    twins,
    sites: remotes,
    pods,
    nodes,
    addresses,
    ...(counters && { counters }),
  });
  return [contracts, peerings, pods, virtualNodes, offloadings, rules, reflection];
}
