import type { Home } from "@fjord/continuum/home";
import type { ContractBook } from "@fjord/continuum/market";
import {
  ConnectRoute,
  ProxiedAddresses,
  ProxyController,
  type ProxyMetrics,
  SharedNamespaces,
  StandIns,
} from "@fjord/continuum/network-proxy";
import type { KnownTwins } from "@fjord/continuum/offload";
import type { OwnSite, RemoteSites } from "@fjord/continuum/peering";
import type { Runnable } from "@fjord/kube";

export interface ProxySideOptions {
  readonly home: Home;
  readonly own: OwnSite;
  readonly remotes: RemoteSites;
  readonly contracts: ContractBook;
  readonly twins: KnownTwins;
  readonly metrics: ProxyMetrics;
}

export interface ProxySide {
  readonly addresses: ProxiedAddresses;
  readonly controller: ProxyController;
  readonly route: ConnectRoute;
  readonly runnables: readonly Runnable[];
}

/** How pods that are processes of this machine meet those of peers, without any privilege: the agents carry their connections. */
export function proxySide({ home, own, remotes: sites, contracts, twins, metrics }: ProxySideOptions): ProxySide {
  const shared = new SharedNamespaces({ home, twins, contracts });
  const standIns = new StandIns({ home, sites, shared, metrics });
  const controller = new ProxyController({ home, own, sites, contracts, standIns });
  const route = new ConnectRoute({ home, shared, twins, metrics });
  return { addresses: new ProxiedAddresses(home), controller, route, runnables: [controller, route, standIns] };
}
