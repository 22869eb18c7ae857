import type { Home } from "@fjord/continuum/home";
import type { ContractBook } from "@fjord/continuum/market";
import {
  CardsBetween,
  ExportController,
  HeardIntroductions,
  HeardNetworks,
  ImportController,
  IntroductionController,
  type LinkKey,
  NetworkController,
  OwnCards,
  peerWord,
  SilentEndpoints,
  TcpCarrier,
  type TcpMetrics,
  ToldNetwork,
  takesPart,
} from "@fjord/continuum/network";
import type { KnownTwins, KnownVirtualNodes } from "@fjord/continuum/offload";
import type { OwnSite, RemoteSites } from "@fjord/continuum/peering";
import type { Runnable } from "@fjord/kube";

export interface NetworkSideOptions {
  readonly home: Home;
  readonly own: OwnSite;
  readonly remotes: RemoteSites;
  readonly contracts: ContractBook;
  readonly nodes: KnownVirtualNodes;
  readonly twins: KnownTwins;
  readonly key: LinkKey;
  /** Of the own Services. */
  readonly serviceRanges: readonly string[];
  /** Of this process, where nodes of the own site reach it. */
  readonly address: string;
  readonly metrics: TcpMetrics;
  /** Whether the agents carry connections instead, and there are to be no links. */
  readonly proxied: boolean;
}

export interface NetworkSide {
  readonly told: ToldNetwork;
  readonly heard: HeardNetworks;
  readonly introductions: HeardIntroductions;
  readonly carrier: TcpCarrier;
  /** Whether a peer has said since the agent started that it has a link with this site. */
  isLinked(site: string): boolean;
  readonly controllers: readonly Runnable[];
}

/** How the site's pods meet those of peers: what these are told, and what is agreed with them. */
export function networkSide(options: NetworkSideOptions): NetworkSide {
  const heard = new HeardNetworks();
  const { home, own, remotes: sites, twins, proxied } = options;
  const told = new ToldNetwork(options);
  const ownCards = new OwnCards({ home, told });
  const introductions = new HeardIntroductions({
    id: home.identity.id,
    accepts: () => !proxied && takesPart(own.object()),
    cardFor: (site, consumer) => ownCards.for(site, consumer),
  });
  const cards = new CardsBetween();
  const carrier = new TcpCarrier({ ...options, sites });
  return {
    heard,
    told,
    introductions,
    carrier,
    isLinked(site) {
      const word = peerWord(site, heard, sites);
      return word !== "unknown" && word.facts !== undefined;
    },
    controllers: [
      carrier,
      ...(proxied
        ? []
        : [
            new NetworkController({ ...options, heard, sites, introductions, cards, carrier }),
            new IntroductionController({ ...options, sites, cards }),
            new SilentEndpoints(home),
          ]),
      new ExportController(home),
      new ImportController({ home, heard, sites, twins }),
    ],
  };
}
