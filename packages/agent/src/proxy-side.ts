import type { Home } from "@fjord/continuum/home";
import type { ContractBook } from "@fjord/continuum/market";
import type { MayHave } from "@fjord/continuum/network";
import {
  CarriedParties,
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
import { LocalClients } from "@fjord/node/local-clients";

export interface ProxySideOptions {
  readonly home: Home;
  readonly own: OwnSite;
  readonly remotes: RemoteSites;
  readonly contracts: ContractBook;
  readonly twins: KnownTwins;
  readonly metrics: ProxyMetrics;
  readonly mayHave: MayHave;
  /** By the node of this process. @default nobody is known */
  readonly clients?: LocalClients;
}

export interface ProxySide {
  readonly addresses: ProxiedAddresses;
  readonly controller: ProxyController;
  readonly route: ConnectRoute;
  readonly runnables: readonly Runnable[];
}

/** How pods that are processes of this machine meet those of peers, without any privilege: the agents carry their connections. */
export function proxySide(options: ProxySideOptions): ProxySide {
  const { home, own, remotes: sites, contracts, twins, metrics, mayHave, clients = new LocalClients() } = options;
  const shared = new SharedNamespaces({ home, twins, contracts });
  const parties = new CarriedParties(home);
  const standIns = new StandIns({ home, sites, shared, parties, clients, metrics });
  const controller = new ProxyController({ home, own, sites, contracts, standIns });
  const route = new ConnectRoute({ home, shared, parties, clients, metrics });
  const addresses = new ProxiedAddresses(home, mayHave);
  return { addresses, controller, route, runnables: [controller, route, standIns] };
}
