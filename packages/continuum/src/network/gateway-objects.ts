import { AddressPlan, Export, Link, Site, VIRTUAL_NODE } from "@fjord/api";
import {
  type Cache,
  isConflict,
  isNotFound,
  type KubeClient,
  Node,
  Secret,
  type SharedCaches,
  sameContent,
} from "@fjord/kube";
import { nthPort } from "./fabric/checked-peer.ts";
import type { WayPeer, WayState } from "./fabric/way.ts";
import type { NodeWish } from "./gateway/gateway-source.ts";
import { type LifeSight, LinkLife, type PeerSigns } from "./gateway/link-life.ts";
import { keyMadeAtOf, LINK_SECRET, privateKeyOf } from "./link-key.ts";
import { LinkRates } from "./link-rates.ts";
import { isLaneNews, isSaidSilent, type LaneStatus, laneStatuses, linkStatus, type SeenLink } from "./link-status.ts";
import type { NetworkState, PeerNetwork } from "./network-state.ts";
import { networkState } from "./network-state-of.ts";
import { laneCarriers, laneCount } from "./own-network.ts";

export interface GatewayObjectsOptions {
  readonly client: KubeClient;
  /** Run, and in sync, before anything is read. */
  readonly caches: SharedCaches;
  /** The agent's. */
  readonly namespace: string;
  /** Where other nodes of the site have agents too: this one. @default it carries the links, and knows nobody else */
  readonly place?: GatewayPlace;
  /** Milliseconds since the epoch: what things are dated by. */
  now(): number;
  /** Milliseconds that nobody sets, as those of signs of life: for how long something has lasted. @default now */
  steady?(): number;
}

/** A node among those of its site. */
export interface GatewayPlace {
  readonly node: string;
  /** Where peers reach this node. @default as the own Site says */
  readonly endpoints?: readonly string[];
  /** Absent where the node never carries links. */
  readonly role?: {
    /** The lanes that it carries; undefined while that is not known. */
    readonly lanes: readonly number[] | undefined;
    /** The node that has them when this one falls silent. @default there is none */
    readonly heir?: string | undefined;
    /** The lanes that this node has when another one falls silent. @default none */
    readonly inherits?: readonly number[];
    /** So many there are. */
    want(count: number): void;
    onChange(listener: () => void): () => void;
  };
}

/** What a gateway tells of a link: what it sees, and of what the life of the peer is judged. */
type ToldLink = SeenLink & { readonly siteId: string; readonly signs?: PeerSigns; readonly isTrying?: boolean };

/** Where a peer is, and when it agreed on a key, is told at once, but not as often as it may move: it can with each packet. */
const MET_MS = 2_000;
/** Numbers that change with each packet are told this often; what somebody waits for, at once. */
const NUMBERS_MS = 10_000;

/** What a gateway is to bring about, by the objects of the own API; and says there how links are. */
export class GatewayObjects {
  readonly #options: GatewayObjectsOptions;
  readonly #sites: Cache<Site>;
  readonly #plans: Cache<AddressPlan>;
  readonly #links: Cache<Link>;
  readonly #secrets: Cache<Secret> | undefined;
  readonly #exports: Cache<Export> | undefined;
  readonly #nodes: Cache<Node> | undefined;
  readonly #rates = new LinkRates();
  readonly #toldAt = new Map<string, number>();
  readonly #lives = new Map<string, LinkLife>();

  constructor(options: GatewayObjectsOptions) {
    this.#options = options;
    const { caches, namespace, place } = options;
    this.#sites = caches.open(Site).cache;
    this.#plans = caches.open(AddressPlan).cache;
    this.#links = caches.open(Link).cache;
    // Who never carries links does not see the key.
    const mayCarry = place === undefined || place.role !== undefined;
    const fieldSelector = `metadata.name=${LINK_SECRET}`;
    this.#secrets = mayCarry ? caches.open(Secret, { namespace, fieldSelector }).cache : undefined;
    this.#exports = mayCarry ? caches.open(Export).cache : undefined;
    // Only who carries links asks where others are.
    this.#nodes = place?.role && caches.open(Node, { labelSelector: `!${VIRTUAL_NODE}` }).cache;
  }

  /** Undefined while the site has no key, as it has never wanted links, or while it is not known who carries them. */
  async read(): Promise<NodeWish | undefined> {
    const wish = this.#wish();
    const silent = wish && this.#silentRanges();
    return silent !== undefined && silent.length > 0 ? { ...wish, silent } : wish;
  }

  /** What those are called here whose links have fallen silent. */
  #silentRanges(): string[] {
    return this.#links.list().flatMap((link) => {
      const plan = isSaidSilent(link) ? this.#plans.get({ name: link.spec.site }) : undefined;
      return plan?.spec.peer.flatMap(({ called }) => called ?? []) ?? [];
    });
  }

  #wish(): NodeWish | undefined {
    const { place } = this.#options;
    const [secret] = this.#secrets?.list() ?? [];
    const own = this.#own();
    if ((secret === undefined && this.#secrets !== undefined) || own === undefined) return undefined;
    const count = laneCount(own);
    place?.role?.want(count);
    const whole = networkState(own, this.#plans.list(), this.#links.list(), this.#sites.list(), this.#exports?.list());
    const carried = this.#carried(count);
    if (carried === undefined) return undefined;
    const state = { ...whole, ...(carried.length < count && { carried }) };
    const keyMadeAt = secret && keyMadeAtOf(secret);
    const carries = secret &&
      carried.length > 0 && {
        carries: { state, privateKey: privateKeyOf(secret), ...(keyMadeAt !== undefined && { keyMadeAt }) },
      };
    if (place === undefined) {
      const way = wayState(state, []);
      return carries ? { ...carries, ...((way.homes?.length ?? 0) > 0 && { way }) } : undefined;
    }
    const nodes = carried.length > 0 ? this.#addresses(({ metadata }) => metadata.name !== place.node) : [];
    const gateways = laneCarriers(own).map((each, lane) =>
      carried.includes(lane) || each?.node === place.node ? [] : (each?.addresses ?? []),
    );
    const { heir: next, inherits = [] } = place.role ?? {};
    const heir =
      carried.length === 0 || next === undefined ? [] : this.#addresses((node) => node.metadata.name === next);
    const inherited = inherits.filter((lane) => lane < count);
    return {
      ...carries,
      way: { ...wayState(state, gateways), nodes, ...(heir.length > 0 && { heir }) },
      ...(inherited.length > 0 && { inherits: { ...whole, carried: inherited } }),
    };
  }

  /** The lanes that this node carries; undefined while that is not known. */
  #carried(count: number): number[] | undefined {
    const { place } = this.#options;
    if (place === undefined) return Array.from({ length: count }, (_, lane) => lane);
    if (place.role === undefined) return [];
    return place.role.lanes?.filter((lane) => lane < count);
  }

  /** What a site is called here. */
  nameOf(siteId: string): string | undefined {
    return this.#sites.list().find(({ spec, status }) => (status?.id ?? spec.id) === siteId)?.metadata.name;
  }

  /** Another node carries the links, or may; or a peer has fallen silent, or is heard again, on a lane or altogether. */
  onChange(listener: () => void): () => void {
    const seen = (old: Site, { status }: Site) => {
      if (!sameContent(old.status?.gateway, status?.gateway)) listener();
    };
    const heard = (old: Link, now: Link) => {
      if (isSaidSilent(old) !== isSaidSilent(now) || !sameContent(silentLanes(old), silentLanes(now))) listener();
    };
    const release = [
      this.#sites.addHandler({ onUpdate: seen }),
      this.#links.addHandler({ onUpdate: heard }),
      this.#options.place?.role?.onChange(listener),
    ];
    return () => {
      for (const each of release) each?.();
    };
  }

  /** Says how links are, and which of their lanes this node carries. */
  async tell(reports: readonly ToldLink[]): Promise<void> {
    await this.#sayCarrier();
    const known = new Set(reports.map(({ siteId }) => siteId));
    for (const siteId of this.#lives.keys()) if (!known.has(siteId)) this.#lives.delete(siteId);
    for (const key of this.#toldAt.keys()) if (!known.has(key.split(" ")[0] ?? "")) this.#toldAt.delete(key);
    this.#rates.keepOnly(known);
    const judged = reports.flatMap(({ siteId, signs, isTrying, ...seen }) => {
      const link = this.#links.get({ name: siteId });
      if (link === undefined) return [];
      const silent = signs && this.#isSilent(link, { ...signs, ...seen, isTrying: isTrying === true });
      return [{ link, seen: { ...seen, ...(silent !== undefined && { silent }) } }];
    });
    // Endpoints wait for those that have fallen silent, or are back.
    const news = judged.filter(({ link, seen }) => (seen.silent ?? false) !== isSaidSilent(link));
    for (const each of new Set([...news, ...judged])) await this.#say(each.link, each.seen);
  }

  #isSilent(link: Link, signs: Omit<LifeSight, "now">): boolean | undefined {
    const name = link.metadata.name ?? "";
    const before = { hasAnswered: link.status?.latencyMicroseconds !== undefined, isSilent: isSaidSilent(link) };
    const life = this.#lives.get(name) ?? new LinkLife(before);
    this.#lives.set(name, life);
    const isSilent = life.isSilent({ ...signs, now: this.#steady() });
    return isSilent && !this.#isAliveElsewhere(link);
  }

  /** Whether another node hears the peer on a lane that it carries, to which both ends lead what would take others. */
  #isAliveElsewhere({ status }: Link): boolean {
    const { node, role } = this.#options.place ?? {};
    if (role?.lanes === undefined) return false;
    const others = (status?.lanes ?? []).filter((each) => each.node !== node && !role.lanes?.includes(each.lane));
    return others.some(({ silent, handshakeAt }) => silent !== true && handshakeAt !== undefined);
  }

  #steady(): number {
    const { now, steady = now } = this.#options;
    return steady();
  }

  async #sayCarrier(): Promise<void> {
    const { place } = this.#options;
    const own = this.#own();
    if (place?.role?.lanes === undefined || own === undefined) return;
    const count = laneCount(own);
    const { node, endpoints = [] } = place;
    const addresses = this.#addresses(({ metadata }) => metadata.name === node);
    const gateway = { node, addresses, endpoints: [...endpoints] };
    for (const lane of place.role.lanes.filter((each) => each < count)) {
      const further = endpoints.flatMap((each) => nthPort(each, lane) ?? []);
      const lanes = count > 1 ? [{ lane, node, addresses, endpoints: further }] : undefined;
      await this.#sayLaneCarrier(
        own,
        lane,
        lane === 0 ? { ...gateway, ...(lanes && { lanes }) } : { ...(lanes && { lanes }) },
      );
    }
    const { lanes = [] } = own.status?.gateway ?? {};
    const isMore = lanes.some(({ lane }) => lane >= (count > 1 ? count : 0));
    if (place.role.lanes.includes(0) && isMore) {
      const kept = count > 1 ? lanes.filter(({ lane }) => lane < count) : null;
      await this.#options.client.patch(
        Site,
        { name: own.metadata.name ?? "" },
        "merge",
        { status: { gateway: { lanes: kept } } },
        { subresource: "status", fieldManager: "fjord-gateway" },
      );
    }
  }

  /** One writer for each lane, whoever that is: what others say of theirs stays. */
  async #sayLaneCarrier(own: Site, lane: number, gateway: Partial<GatewayStatus>): Promise<void> {
    const { lanes: said, ...whole } = own.status?.gateway ?? {};
    const { lanes: wanted = [], ...first } = gateway;
    const isSaid =
      (lane > 0 || sameContent(first, whole)) &&
      wanted.every((each) => said?.some((other) => sameContent(each, other)));
    // The first one's has to be there before others'.
    if (isSaid || (lane > 0 && own.status?.gateway === undefined)) return;
    const options = { subresource: "status", fieldManager: `fjord-lane-${lane}`, force: true };
    const { name, uid } = own.metadata;
    await this.#options.client.apply(Site, { metadata: { name, uid }, status: { gateway } } as Site, options);
  }

  #own(): Site | undefined {
    return this.#sites.list().find(({ status }) => status?.role === "Self");
  }

  /** By which nodes of the site reach each other. */
  #addresses(which: (node: Node) => boolean): string[] {
    const nodes = (this.#nodes?.list() ?? []).filter(which);
    const addresses = nodes.flatMap(({ status }) => status?.addresses ?? []);
    return [...new Set(addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address))].sort();
  }

  /** Each lane by whoever carries it, and the link as a whole by who carries the first. */
  async #say(link: Link, seen: SeenLink): Promise<void> {
    for (const lane of laneStatuses(seen, this.#options.place?.node)) await this.#sayLane(link, lane);
    const { role } = this.#options.place ?? {};
    if (role?.lanes?.includes(0) ?? role === undefined) await this.#sayLink(link, seen);
  }

  async #sayLane(link: Link, status: LaneStatus): Promise<void> {
    const { client } = this.#options;
    const name = link.metadata.name ?? "";
    const at = this.#steady();
    const before = link.status?.lanes?.find(({ lane }) => lane === status.lane);
    const key = `${name} ${status.lane}`;
    const isDue = at - (this.#toldAt.get(key) ?? 0) >= NUMBERS_MS && !sameContent(status, before);
    if (!isLaneNews(status, before) && !isDue) return;
    this.#toldAt.set(key, at);
    // One writer for each lane, whoever that is: what others say of theirs stays.
    const options = { subresource: "status", fieldManager: `fjord-lane-${status.lane}`, force: true };
    const said = { metadata: { name, uid: link.metadata.uid }, status: { lanes: [status] } } as Partial<Link>;
    await client.apply(Link, said as Link, options).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  async #sayLink(link: Link, seen: SeenLink): Promise<void> {
    const { client, now } = this.#options;
    const name = link.metadata.name ?? "";
    const at = this.#steady();
    const status = linkStatus(link, { ...seen, ...this.#rates.of(name, seen, at) }, now());
    const sinceTold = at - (this.#toldAt.get(name) ?? Number.NEGATIVE_INFINITY);
    const isMet = status.endpoint !== link.status?.endpoint || status.handshakeAt !== link.status?.handshakeAt;
    const isNews =
      !sameContent(status.conditions, link.status?.conditions) ||
      (isMet && sinceTold >= MET_MS) ||
      status.ownKey !== link.status?.ownKey ||
      status.nextKey !== link.status?.nextKey ||
      status.way !== link.status?.way ||
      status.via !== link.status?.via ||
      status.tcpSource !== link.status?.tcpSource ||
      (status.mtu === undefined) !== (link.status?.mtu === undefined);
    const { lanes: _, ...said } = link.status ?? {};
    const isDue = sinceTold >= NUMBERS_MS && !sameContent(status, said);
    if (!isNews && !isDue) return;
    this.#toldAt.set(name, at);
    this.#rates.told(name, seen, at);
    const options = { subresource: "status", fieldManager: "fjord-gateway" };
    // What is no longer known is not said any more.
    const gone = Object.keys(link.status ?? {}).filter(
      (field) => !(field in status) && (field !== "lanes" || seen.lanes === undefined),
    );
    const patch = { status: { ...Object.fromEntries(gone.map((field) => [field, null])), ...status } };
    await client.patch(Link, { name }, "merge", patch, options).catch((error: unknown) => {
      // It has gone meanwhile.
      if (!isNotFound(error)) throw error;
    });
  }
}

type GatewayStatus = NonNullable<NonNullable<Site["status"]>["gateway"]>;

function silentLanes({ status }: Link): (number | string)[] {
  return (status?.lanes ?? []).flatMap(({ lane, silent, node = "" }) => (silent ? [lane, node] : []));
}

/** `gateways` are, by lane, where whoever carries it is, if that is another node. */
function wayState(state: NetworkState, gateways: readonly (readonly string[])[]): WayState {
  const { siteId, peers, parallel: count = 1, carried = [] } = state;
  const ranges = peers.flatMap(({ peer }) => peer.map(({ called }) => called));
  const homes = peers.flatMap(({ guests }) => guests ?? []);
  const [gateway = [], ...further] = gateways;
  // Who carries some has the links' own firewall, which chooses.
  const isChosen = carried.length === 0 && state.carried !== undefined;
  const lanes = {
    gateways: further,
    peers: peers.map(wayPeer(count, isChosen)),
    isChosen,
    ...(siteId !== undefined && { siteId }),
  };
  return {
    own: state.ranges,
    ranges,
    gateway,
    nodes: [],
    ...(count > 1 && state.carried !== undefined && { lanes }),
    ...(homes.length > 0 && { homes }),
    mtu: state.mtu,
  };
}

/** Where lanes are not chosen by it, the way stays as it is when one falls silent: something else is waited for then. */
function wayPeer(count: number, isChosen: boolean): (peer: PeerNetwork) => WayPeer {
  return ({ siteId, peer, link }) => ({
    siteId,
    ranges: peer.map(({ called }) => called),
    lanes: link.via === undefined ? Math.min(count, 1 + (link.lanes?.length ?? count - 1)) : 1,
    silent: (isChosen && link.silent) || [],
  });
}
