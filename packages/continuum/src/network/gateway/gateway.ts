import type { Clock, Logger } from "@fjord/base";
import { describeError } from "@fjord/base";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import { InvalidNetworkState } from "../fabric/errors.ts";
import { type Fabric, type FabricInterface, fabricOf } from "../fabric/fabric.ts";
import { changedChains, firewallChange, removedFirewall, wholeFirewall } from "../fabric/firewall-change.ts";
import { firewallDrift, listedChains, madeChains } from "../fabric/firewall-drift.ts";
import { LINK_ROUTES, routesOf } from "../fabric/route-change.ts";
import { TABLE } from "../fabric/table.ts";
import { type WireguardPeer, type WireguardPeerState, wireguardChange } from "../fabric/wireguard-change.ts";
import { linkAddress, linkRange, RELAY_RANGE } from "../link-address.ts";
import { publicHalf } from "../link-key.ts";
import type { NetworkState } from "../network-state.ts";
import type { NodeNetwork } from "./node-network.ts";
import type { Way } from "./path-choice.ts";
import { type PathLook, PeerPaths, type PeerPathsOptions } from "./peer-paths.ts";
import { RouteTable } from "./route-table.ts";
import { Underlay } from "./underlay.ts";
import { type WireguardCarrier, type WireguardChoice, WireguardDevices } from "./wireguard-devices.ts";

export interface GatewayOptions {
  readonly network: NodeNetwork;
  /** @default "fjord" */
  readonly interfacePrefix?: string;
  /** @default "auto" */
  readonly wireguard?: WireguardChoice;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup?: PeerPathsOptions["lookup"];
}

/** What is known of the link to a peer. */
export interface LinkReport {
  readonly siteId: string;
  /** Why the peer is left out; then nothing else is known. */
  readonly fault?: string;
  /** Unix time in milliseconds of the last handshake. */
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  /** The own public key that the interface has. */
  readonly ownKey?: string;
  /** What encrypts. */
  readonly carrier?: WireguardCarrier;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** By which way it is met, or sought where it has fallen silent; absent before it was ever heard of. */
  readonly way?: Way;
  /** The hub that it is heard of through. */
  readonly via?: string;
  /** The address from which this node sends to the own agent, where that carries packets to the peer. */
  readonly tcpSource?: string;
  /** Whether it is to be asked to try the direct way too. */
  readonly isInvited?: boolean;
  /** Whether a better way is tried: then it is to be asked, and looked at, more often. */
  readonly isTrying?: boolean;
  /** The largest packet that the node can send to the endpoint in one piece, once it is wrapped; where that is known. */
  readonly pathMtu?: number;
  /** Of what it consists: each lane that this node carries. */
  readonly lanes?: readonly LaneReport[];
}

/** What is known of one lane of a link. */
export interface LaneReport {
  readonly lane: number;
  readonly handshakeAt?: number;
  readonly endpoint?: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** A peer that has been silent for so long may be elsewhere; a living link has a handshake every two minutes. */
const SILENT_MS = 150_000;
/** How often a peer is greeted that has not answered yet, where nothing is to be kept alive. */
const GREETING_SECONDS = 5;

/**
 * Brings a node's interfaces, firewall and routes to what a state asks for. After the first time it changes only what has changed; `check`
 * looks at everything. It keeps nothing that the node could not give back, so that another process may go on at any moment.
 */
export class Gateway {
  readonly #network: NodeNetwork;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #routes: RouteTable;
  readonly #underlay: Underlay;
  readonly #devices: WireguardDevices;
  /** Whether a peer can be behind a hub. */
  readonly #canNest: boolean;
  #applied:
    | {
        readonly fabric: Fabric;
        readonly privateKey: string;
        readonly ownKey: string;
        readonly carrier: WireguardCarrier;
      }
    | undefined;
  /** The firewall's chains as nft showed them when they were made. */
  #made = new Map<string, string>();
  /** Chains that were made since, and that nft has not been asked for yet: to show one, it reads all that there is. */
  readonly #unseen = new Set<string>();
  /** Where peers are looked for, by lane. */
  readonly #paths = new Map<number, PeerPaths>();
  readonly #newPaths: () => PeerPaths;
  /** Interfaces and public keys of those who are to hear of this node before they send it anything: it may have come in the place of another. */
  readonly #greeted = new Set<string>();

  constructor({ network, interfacePrefix = "fjord", wireguard = "auto", clock, logger, lookup }: GatewayOptions) {
    this.#network = network;
    this.#prefix = interfacePrefix;
    this.#clock = clock;
    this.#logger = logger;
    this.#routes = new RouteTable(network, LINK_ROUTES);
    this.#underlay = new Underlay(network, clock);
    this.#newPaths = () => new PeerPaths({ clock, logger, ...(lookup && { lookup }) });
    this.#devices = new WireguardDevices({ network, choice: wireguard, probeName: `${interfacePrefix}999`, logger });
    this.#canNest = wireguard !== "kernel";
  }

  /** Applies a state; `privateKey` is the site's of WireGuard, in base64. Refuses what cannot be, and has then changed nothing. */
  async apply(state: NetworkState, privateKey: string): Promise<void> {
    const isNested = state.peers.some(({ link }) => link?.via !== undefined || link?.fallback !== undefined);
    const carrier = await this.#devices.choose(isNested);
    const isKnown = this.#applied?.privateKey === privateKey && this.#applied.carrier === carrier;
    const before = isKnown ? this.#applied?.fabric : undefined;
    const fabric = fabricOf(state, { interfacePrefix: this.#prefix, canNest: this.#canNest }, before);
    const bytes = Buffer.from(privateKey, "base64");
    if (bytes.length !== 32) throw new InvalidNetworkState({ reason: "the private key is not one of WireGuard" });
    const hex = bytes.toString("hex");
    // Until it is done nobody knows what is there: who tries again begins anew.
    this.#applied = undefined;
    if (before === undefined || !sameInterfaces(before, fabric)) await this.#applyWhole(fabric, hex);
    else await this.#applyChange(before, fabric);
    this.#applied = { fabric, privateKey, ownKey: publicHalf(privateKey), carrier };
  }

  /** Looks whether everything is as it was left, and puts back what is not. Resolves with what was not, in words. */
  async check(): Promise<string[]> {
    if (this.#applied === undefined) return [];
    const { fabric, privateKey } = this.#applied;
    const drift = [
      ...(await this.#firewallDrift(fabric)),
      ...(await this.#routes.drift(routesOf(fabric), fabric.lanes)),
      ...(await this.#interfaceDrift(fabric)),
    ];
    if (drift.length > 0) {
      this.#logger.warn("the node's network was changed by others, and is put back", { drift: drift.slice(0, 5) });
      await this.#applyWhole(fabric, Buffer.from(privateKey, "base64").toString("hex"));
    }
    return drift;
  }

  /**
   * Seeks peers that are silent by other ways, or at their next endpoint, whose name may lead elsewhere by now, and tells how links are.
   * `answers` says of a site whether it is asked over a lane of its link every second, and answers.
   */
  async tend(answers: (siteId: string, lane: number) => boolean = () => true): Promise<LinkReport[]> {
    if (this.#applied === undefined) return [];
    const { fabric, ownKey } = this.#applied;
    if (this.#unseen.size > 0) this.#seeChains((await this.#network.nftTable(TABLE)) ?? "");
    this.#underlay.turn();
    const reports = new Map<string, LinkReport>();
    for (const [siteId, fault] of fabric.faults)
      reports.set(siteId, { siteId, fault, ownKey, receivedBytes: 0, sentBytes: 0 });
    for (const each of fabric.interfaces) {
      const { name, lane } = each;
      const state = await this.#devices.device(name).get();
      const peers = new Map<string, WireguardPeer>();
      const isHandshaken = (siteId: string) => {
        const key = fabric.peers.get(siteId)?.checked.publicKey;
        return this.#clock.now() - (state.peers.get(key ?? "")?.handshakeSeconds ?? 0) * 1000 < SILENT_MS;
      };
      for (const { checked } of fabric.peers.values()) {
        const seen = state.peers.get(checked.publicKey);
        if (seen === undefined) continue;
        if (seen.handshakeSeconds > 0 && this.#greeted.delete(`${name} ${checked.publicKey}`)) {
          const { endpoint } = seen;
          peers.set(checked.publicKey, {
            ...this.#wireguardPeer(checked, each, fabric),
            ...(endpoint && { endpoint }),
          });
        }
        const isAnswering = answers(checked.siteId, lane);
        const { isMoved, ...look } = this.#pathsOf(lane).look(ofLane(checked, lane), seen, isHandshaken, isAnswering);
        const before = reports.get(checked.siteId);
        const report = { ...addReport(before, checked.siteId, lane, seen), ownKey, carrier: this.#devices.carrier };
        const path = await this.#pathReport(ofLane(checked, lane), seen, look);
        const pathMtu = smaller(before?.pathMtu, path.pathMtu);
        // Where it is met is said of the first lane that is here.
        const isFirst = each === fabric.interfaces[0];
        reports.set(checked.siteId, { ...report, ...(isFirst && path), ...(pathMtu !== undefined && { pathMtu }) });
        if (isMoved) peers.set(checked.publicKey, this.#wireguardPeer(checked, each, fabric));
      }
      const now = new Map([...state.peers].filter(([key]) => peers.has(key)));
      await this.#devices.device(name).set(wireguardChange(now, peers));
    }
    return [...reports.values()];
  }

  /** A peer says over its link that it tries the direct way now: of two behind NATs both have to. */
  invited(siteId: string): void {
    const checked = this.#applied?.fabric.peers.get(siteId)?.checked;
    if (checked !== undefined) this.#pathsOf(0).invited(checked);
  }

  #pathsOf(lane: number): PeerPaths {
    const paths = this.#paths.get(lane) ?? this.#newPaths();
    this.#paths.set(lane, paths);
    return paths;
  }

  #bringPaths(fabric: Fabric): void {
    for (const lane of this.#paths.keys())
      if (!fabric.interfaces.some((each) => each.lane === lane)) this.#paths.delete(lane);
    for (const { lane } of fabric.interfaces) {
      const there = [...fabric.peers].filter(([, { checked }]) => checked.lanes.length > lane);
      const peers = there.map(([siteId, peer]) => [siteId, { checked: ofLane(peer.checked, lane) }] as const);
      this.#pathsOf(lane).bring({ peers: new Map(peers) });
    }
  }

  async #pathReport(
    { via: hub, fallback, tcp }: CheckedPeer,
    { handshakeSeconds }: WireguardPeerState,
    look: Omit<PathLook, "isMoved">,
  ): Promise<Partial<LinkReport>> {
    const way = hub === undefined ? look.way : "hub";
    const via = way === "hub" ? (hub ?? fallback?.via) : undefined;
    const { endpoint, isInvited, isTrying } = look;
    // What a hub leads to is as large as what gets to the hub.
    const isMet = way !== "hub" && handshakeSeconds > 0 && endpoint !== undefined;
    const pathMtu = isMet ? await this.#underlay.largestTo(endpoint) : undefined;
    const tcpSource = tcp === undefined ? undefined : await this.#underlay.sourceTo(tcp);
    return {
      ...(endpoint !== undefined && { endpoint }),
      ...(handshakeSeconds > 0 && { way }),
      ...(handshakeSeconds > 0 && via !== undefined && { via }),
      ...(pathMtu !== undefined && { pathMtu }),
      ...(tcpSource !== undefined && { tcpSource }),
      isInvited,
      isTrying,
    };
  }

  /** From now on nothing is taken as known: the next `apply` looks at everything. */
  forget(): void {
    this.#applied = undefined;
  }

  /** Takes everything away that a gateway has made, whoever has run it. */
  async remove(): Promise<void> {
    this.#applied = undefined;
    this.#greeted.clear();
    // Where another node carries the links now, the way to that one is to be taken at once.
    await this.#routes.remove();
    for (const name of await this.#interfaces()) await this.#network.ip("link", "delete", "dev", name);
    await this.#network.nft(removedFirewall());
  }

  async #applyWhole(fabric: Fabric, privateKey: string): Promise<void> {
    this.#made = madeChains(await this.#network.nftShown(wholeFirewall(fabric)));
    this.#unseen.clear();
    const wanted = new Set(fabric.interfaces.map(({ name }) => name));
    for (const name of await this.#interfaces())
      if (!wanted.has(name)) await this.#network.ip("link", "delete", "dev", name);
    this.#bringPaths(fabric);
    for (const each of fabric.interfaces) await this.#applyInterface(fabric, each, privateKey);
    await this.#routes.bring(routesOf(fabric), fabric.lanes);
  }

  async #applyChange(before: Fabric, after: Fabric): Promise<void> {
    if (before.tableKey === after.tableKey) {
      const change = firewallChange(before, after);
      await this.#network.nft(change);
      for (const name of changedChains(change)) this.#unseen.add(name);
    } else {
      this.#made = madeChains(await this.#network.nftShown(wholeFirewall(after)));
      this.#unseen.clear();
    }
    const [gone, come] = [changedPeers(before, after), changedPeers(after, before)];
    const there = after.interfaces.map((each) => this.#wireguardPeers(gone, each, before));
    this.#bringPaths(after);
    for (const [i, each] of after.interfaces.entries()) {
      const device = this.#devices.device(each.name);
      const wanted = this.#wireguardPeers(come, each, after);
      for (const [oldKey, newKey] of replacedKeys(gone, come)) {
        // A peer that has another key is still where it was heard of.
        const endpoint = (await device.get()).peers.get(oldKey)?.endpoint;
        const peer = wanted.get(newKey);
        if (peer !== undefined && endpoint !== undefined) wanted.set(newKey, { ...peer, endpoint });
      }
      await device.set(wireguardChange(there[i] ?? new Map(), wanted));
    }
    await this.#routes.change(routesOf({ ...after, peers: gone }), routesOf({ ...after, peers: come }));
  }

  async #applyInterface(fabric: Fabric, each: FabricInterface, privateKey: string): Promise<void> {
    const { name, lane, listenPort, linkAddress: own } = each;
    const isNew = await this.#devices.bring(name);
    if (isNew) for (const { checked } of fabric.peers.values()) this.#greeted.add(`${name} ${checked.publicKey}`);
    const device = this.#devices.device(name);
    const state = await device.get();
    const lines: string[] = [];
    if (state.privateKey !== privateKey) lines.push(`private_key=${privateKey}`);
    if (state.listenPort !== listenPort) lines.push(`listen_port=${listenPort}`);
    const wanted = this.#wireguardPeers(fabric.peers, each, fabric);
    for (const [key, peer] of wanted) {
      const seen = state.peers.get(key);
      const alive = seen !== undefined && this.#clock.now() - seen.handshakeSeconds * 1000 < SILENT_MS;
      // It may have moved, and is heard of there.
      if (alive && seen.endpoint !== undefined) wanted.set(key, { ...peer, endpoint: seen.endpoint });
    }
    await device.set([...lines, ...wireguardChange(state.peers, wanted)]);
    await this.#network.ip("link", "set", "dev", name, "mtu", String(fabric.mtu), "up");
    if (own !== undefined) await this.#bringLinkAddress(name, `${own}/${linkRange(lane).length}`);
    if (lane === 0) await this.#bringRelayAddress(name, fabric);
  }

  /** With the way to all that are behind hubs, as a hub itself needs it. */
  async #bringRelayAddress(name: string, { relayAddress: own }: Fabric): Promise<void> {
    if (own === undefined) await this.#network.ip("-4", "address", "flush", "dev", name);
    else await this.#network.ip("-4", "address", "replace", `${own}/${RELAY_RANGE.length}`, "dev", name);
  }

  /** Links work without it, as on nodes whose IPv6 is switched off; only nobody knows then how well. */
  async #bringLinkAddress(name: string, address: string): Promise<void> {
    await this.#network.ip("-6", "address", "replace", address, "dev", name, "nodad").catch((error: unknown) => {
      this.#logger.warn("links are not probed on this node", { reason: describeError(error) });
    });
  }

  /** Those that have such a lane. */
  #wireguardPeers(peers: Fabric["peers"], each: FabricInterface, fabric: Fabric): Map<string, WireguardPeer> {
    const all = [...peers.values()].filter(({ checked }) => checked.lanes.length > each.lane);
    return new Map(all.map(({ checked }) => [checked.publicKey, this.#wireguardPeer(checked, each, fabric)]));
  }

  #wireguardPeer(checked: CheckedPeer, { name, lane }: FabricInterface, fabric: Fabric): WireguardPeer {
    const { publicKey, keepaliveSeconds } = checked;
    const of = fabric.peers.get(checked.siteId);
    const endpoint = this.#pathsOf(lane).endpointOf(publicKey);
    return {
      publicKey,
      // What keeps a link alive is what opens it without anything to say.
      keepaliveSeconds: keepaliveSeconds || (this.#greeted.has(`${name} ${publicKey}`) ? GREETING_SECONDS : 0),
      ranges: [...(of?.ranges ?? []), ...(lane === 0 ? (of?.gateways ?? []) : [linkAddress(checked.siteId, lane)])],
      ...(endpoint !== undefined && { endpoint }),
    };
  }

  async #firewallDrift(fabric: Fabric): Promise<string[]> {
    const json = await this.#network.nftTable(TABLE);
    if (json === undefined) return [`table ${TABLE} is gone`];
    this.#seeChains(json);
    return firewallDrift(fabric, this.#made, json);
  }

  #seeChains(json: string): void {
    const there = json === "" ? new Map<string, string>() : listedChains(json);
    for (const name of this.#unseen) {
      const text = there.get(name);
      if (text === undefined) this.#made.delete(name);
      else this.#made.set(name, text);
    }
    this.#unseen.clear();
  }

  async #interfaceDrift(fabric: Fabric): Promise<string[]> {
    const there = new Set(await this.#interfaces());
    const drift: string[] = [];
    for (const each of fabric.interfaces) {
      const { name } = each;
      if (!there.has(name)) {
        drift.push(`interface ${name} is gone`);
        continue;
      }
      const seen = await this.#devices
        .device(name)
        .get()
        .catch(() => undefined);
      // Where a peer is heard of is its own business.
      const wanted = [...this.#wireguardPeers(fabric.peers, each, fabric)].map(
        ([key, { endpoint: _, ...peer }]) => [key, peer] as const,
      );
      if (seen === undefined) drift.push(`WireGuard of ${name} does not answer`);
      else if (wireguardChange(seen.peers, new Map(wanted)).length > 0)
        drift.push(`WireGuard of ${name} has other peers`);
    }
    return drift;
  }

  /** The interfaces that are there and have a name of Fjord's. */
  async #interfaces(): Promise<string[]> {
    const links = JSON.parse((await this.#network.ip("-json", "link", "show")) || "[]") as { ifname: string }[];
    const name = new RegExp(`^${this.#prefix}\\d+$`);
    return links.map(({ ifname }) => ifname).filter((each) => name.test(each));
  }
}

function sameInterfaces(a: Fabric, b: Fabric): boolean {
  return (
    a.mtu === b.mtu &&
    a.lanes === b.lanes &&
    a.relayAddress === b.relayAddress &&
    JSON.stringify(a.interfaces) === JSON.stringify(b.interfaces)
  );
}

/** Of the peers of `from` those that `to` has not, or has otherwise. */
function changedPeers(from: Fabric, to: Fabric): Fabric["peers"] {
  return new Map([...from.peers].filter(([siteId, peer]) => to.peers.get(siteId) !== peer));
}

/** Of the peers that have changed, those that have another key now: the old one and the new. */
function replacedKeys(gone: Fabric["peers"], come: Fabric["peers"]): (readonly [string, string])[] {
  return [...come].flatMap(([siteId, { checked }]) => {
    const old = gone.get(siteId)?.checked.publicKey;
    return old === undefined || old === checked.publicKey ? [] : [[old, checked.publicKey] as const];
  });
}

/** A peer as it is met on one lane: those beyond the first are for where the two meet directly. */
function ofLane(checked: CheckedPeer, lane: number): CheckedPeer {
  if (lane === 0) return checked;
  const { fallback: _, tcp: __, ...met } = checked;
  return { ...met, endpoints: checked.lanes[lane] ?? [] };
}

function addReport(
  before: LinkReport | undefined,
  siteId: string,
  lane: number,
  { handshakeSeconds, endpoint: heardAt, receivedBytes, sentBytes }: WireguardPeerState,
): LinkReport {
  const handshakeAt = Math.max(before?.handshakeAt ?? 0, handshakeSeconds * 1000);
  const endpoint = before?.endpoint ?? heardAt;
  const ofIt = {
    lane,
    ...(handshakeSeconds > 0 && { handshakeAt: handshakeSeconds * 1000 }),
    ...(heardAt !== undefined && { endpoint: heardAt }),
    receivedBytes,
    sentBytes,
  };
  return {
    ...before,
    siteId,
    ...(handshakeAt > 0 && { handshakeAt }),
    ...(endpoint !== undefined && { endpoint }),
    receivedBytes: (before?.receivedBytes ?? 0) + receivedBytes,
    sentBytes: (before?.sentBytes ?? 0) + sentBytes,
    lanes: [...(before?.lanes ?? []), ofIt],
  };
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
