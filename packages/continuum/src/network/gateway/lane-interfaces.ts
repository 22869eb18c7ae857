import { type Clock, describeError, type Logger } from "@fjord/base";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { Fabric, FabricInterface } from "../fabric/fabric.ts";
import { type WireguardPeer, type WireguardPeerState, wireguardChange } from "../fabric/wireguard-change.ts";
import { linkAddress, linkRange, RELAY_RANGE } from "../link-address.ts";
import { type LinkReport, withLane } from "./link-report.ts";
import type { NodeNetwork } from "./node-network.ts";
import { type PathLook, PeerPaths, type PeerPathsOptions } from "./peer-paths.ts";
import { Underlay } from "./underlay.ts";
import { type WireguardCarrier, type WireguardChoice, WireguardDevices } from "./wireguard-devices.ts";

export interface LaneInterfacesOptions {
  readonly network: NodeNetwork;
  /** What they are called, before their number. */
  readonly prefix: string;
  readonly wireguard: WireguardChoice;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lookup?: PeerPathsOptions["lookup"];
}

/** A peer that has been silent for so long may be elsewhere; a living link has a handshake every two minutes. */
const SILENT_MS = 150_000;
/** How often a peer is greeted that has not answered yet, where nothing is to be kept alive. */
const GREETING_SECONDS = 5;

/** WireGuard's interfaces on a node, one for each lane that it carries: the peers that each has, and where these are looked for. */
export class LaneInterfaces {
  readonly #network: NodeNetwork;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #underlay: Underlay;
  readonly #devices: WireguardDevices;
  /** Where peers are looked for, by lane. */
  readonly #paths = new Map<number, PeerPaths>();
  readonly #newPaths: () => PeerPaths;
  /** Interfaces and public keys of those who are to hear of this node before they send it anything: it may have come in the place of another. */
  readonly #greeted = new Set<string>();

  constructor({ network, prefix, wireguard, clock, logger, lookup }: LaneInterfacesOptions) {
    this.#network = network;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#logger = logger;
    this.#underlay = new Underlay(network, clock);
    this.#newPaths = () => new PeerPaths({ clock, logger, ...(lookup && { lookup }) });
    this.#devices = new WireguardDevices({ network, choice: wireguard, probeName: `${prefix}999`, logger });
  }

  /** What is to encrypt; `isNested` where a peer is, or may be, behind a hub. */
  choose(isNested: boolean): Promise<WireguardCarrier> {
    return this.#devices.choose(isNested);
  }

  /** Whatever is there becomes this. `privateKey` is hexadecimal. */
  async bring(fabric: Fabric, privateKey: string): Promise<void> {
    const wanted = new Set(fabric.interfaces.map(({ name }) => name));
    for (const name of await this.#interfaces())
      if (!wanted.has(name)) await this.#network.ip("link", "delete", "dev", name);
    this.#bringPaths(fabric);
    for (const each of fabric.interfaces) await this.#bringInterface(fabric, each, privateKey);
  }

  /** Where the interfaces stay: from `gone` to `come`, the peers that differ between the two. */
  async change(before: Fabric, after: Fabric, gone: Fabric["peers"], come: Fabric["peers"]): Promise<void> {
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
  }

  /** Seeks peers that are silent elsewhere, and tells how links are. `answers` says whether a site is asked over a lane, and answers. */
  async tend(fabric: Fabric, answers: (siteId: string, lane: number) => boolean): Promise<LinkReport[]> {
    this.#underlay.turn();
    const reports = new Map<string, LinkReport>();
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
        const report = { ...withLane(before, checked.siteId, lane, seen), carrier: this.#devices.carrier };
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

  /** A peer says over its link that it tries the direct way now. */
  invited(checked: CheckedPeer): void {
    this.#pathsOf(0).invited(checked);
  }

  /** What is not as it shall be, in words. */
  async drift(fabric: Fabric): Promise<string[]> {
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

  /** Takes all of them away, whoever has made them. */
  async remove(): Promise<void> {
    this.#greeted.clear();
    for (const name of await this.#interfaces()) await this.#network.ip("link", "delete", "dev", name);
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

  async #bringInterface(fabric: Fabric, each: FabricInterface, privateKey: string): Promise<void> {
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

  /** Those that are there and have a name of Fjord's. */
  async #interfaces(): Promise<string[]> {
    const links = JSON.parse((await this.#network.ip("-json", "link", "show")) || "[]") as { ifname: string }[];
    const name = new RegExp(`^${this.#prefix}\\d+$`);
    return links.map(({ ifname }) => ifname).filter((each) => name.test(each));
  }
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

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
