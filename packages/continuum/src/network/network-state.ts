/** What a gateway brings about, and the whole of it: what is not in here is not to be. */
export interface NetworkState {
  /** Id of the own site, by which peers know the gateway's own address on links; without it links are not probed. */
  readonly siteId?: string;
  /** UDP; of several interfaces the first one's, and the others' are the next ones. */
  readonly listenPort: number;
  /** Of the interface. */
  readonly mtu: number;
  /** The own pod ranges as they are. */
  readonly ranges: readonly string[];
  /** Sorted by id. */
  readonly peers: readonly PeerNetwork[];
  /** What peers reach that is no pod, by the address that stands for it here. @default nothing */
  readonly exports?: readonly ExportedAddress[];
  /** Machines that are let out by the address that stands for all of them. @default none */
  readonly machines?: readonly string[];
  /** Lanes of the site's links: WireGuard interfaces side by side, each of which talks with the same one of a peer. @default 1 */
  readonly parallel?: number;
  /** Those that this node carries, where other nodes have the others. @default all */
  readonly carried?: readonly number[];
}

/** An address of the range for exports, and where it leads. Who may use it is said by groups, as of any address. */
export interface ExportedAddress {
  readonly address: string;
  /** Whether those behind it see the gateway's own address. */
  readonly masquerade: boolean;
  readonly ports: readonly {
    readonly protocol: "TCP" | "UDP";
    readonly port: number;
    /** Of the same family. */
    readonly backends: readonly { readonly address: string; readonly port: number }[];
  }[];
}

export interface PeerNetwork {
  readonly siteId: string;
  /** The own ranges: `called` is what this peer calls them. */
  readonly own: readonly Naming[];
  /** The peer's ranges: `called` is used here, and overlaps with nothing else that is used here. */
  readonly peer: readonly Naming[];
  readonly link: PeerLink;
  readonly groups: readonly Group[];
  /** Its guests here. @default none */
  readonly guests?: HomeWords;
  /** The largest packet that is known to reach it. @default the interface's */
  readonly mtu?: number;
  /** Ids of other peers that this one may reach through here. @default none */
  readonly relayTo?: readonly string[];
  /** Whether only others know it: what another peer has, such as a key, is not its own. @default false */
  readonly introduced?: boolean;
}

/** A range, and one of the same family and size that stands for it; the same one where nothing is translated. */
export interface Naming {
  readonly range: string;
  readonly called: string;
}

/** Addresses as a consumer calls them, which its guests may use beside those that are good here. */
export interface HomeWords {
  /** Addresses of the guests. */
  readonly addresses: readonly string[];
  /** `range` is what is called so here, `called` the consumer's word for it. */
  readonly names: readonly Naming[];
}

export interface PeerLink {
  /** Of WireGuard, in base64. */
  readonly publicKey: string;
  /** The one that the peer is about to use. */
  readonly nextKey?: string;
  /** Host and port. Empty where the peer dials. */
  readonly endpoints: readonly string[];
  /** The same for each lane beyond the first that there is to it. @default for all of this site's, the next ports of `endpoints` */
  readonly lanes?: readonly (readonly string[])[];
  /** Lanes by which it does not answer, and others may. @default none */
  readonly silent?: readonly number[];
  /** Present where this side has to keep a way through a NAT open. */
  readonly keepaliveSeconds?: number;
  /** Id of the peer whose gateway leads to this one, which cannot be met itself: the endpoint is then one that only that gateway knows. */
  readonly via?: string;
  /** Another way, for where the two cannot meet: the peer that leads there, and the endpoint that only its gateway knows. */
  readonly fallback?: LinkFallback;
  /** Address and port at which the own agent takes packets to carry them to the peer over TCP, for where UDP does not pass. */
  readonly tcp?: string;
}

export interface LinkFallback {
  readonly via: string;
  readonly endpoint: string;
  /** Where that gateway hears of the peer: both may open their NATs by sending there at once. */
  readonly seenAt?: string;
}

/** Every local address may talk with every remote one, whoever begins. */
export interface Group {
  /** The namespace. */
  readonly name: string;
  /** Addresses and ranges as they are. */
  readonly local: readonly string[];
  /** Addresses and ranges as they are called here. */
  readonly remote: readonly string[];
}
