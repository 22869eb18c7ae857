import { type Clock, describeError, type Logger, sleep, steadyNow } from "@fjord/base";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { Fabric, FabricInterface } from "../fabric/fabric.ts";
import {
  type WireguardPeer,
  type WireguardPeerState,
  type WireguardState,
  wireguardChange,
} from "../fabric/wireguard-change.ts";
import { formatRange } from "../ip-range.ts";
import { linkAddress, linkRange, RELAY_RANGE } from "../link-address.ts";
import { type LinkReport, withLane } from "./link-report.ts";
import type { NodeNetwork } from "./node-network.ts";
import type { Answering } from "./path-choice.ts";
import { PeerKeys, type ToldKeys } from "./peer-keys.ts";
import { type PathLook, PeerPaths, type PeerPathsOptions } from "./peer-paths.ts";
import { Underlay } from "./underlay.ts";
import {
  type WireguardCarrier,
  type WireguardChoice,
  type WireguardDevice,
  WireguardDevices,
} from "./wireguard-devices.ts";

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
/** How often it is looked whether a peer that takes another key still sends by the one before, and how long it must not have. */
const QUIET = { lookMs: 5, busyMs: 10, idleMs: 50, longestMs: 400 } as const;
/** Bytes in a second from which on packets come closer to each other than looks. */
const BUSY = 500_000;

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
  /** By lane and site: which of its keys has its ranges. */
  readonly #keys = new Map<string, PeerKeys>();
  /** By lane and site: bytes that had come when a peer last asked whether it may take another key. */
  readonly #counted = new Map<string, { readonly at: number; readonly bytes: number; readonly isBusy: boolean }>();
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
    this.#forgetLanes(fabric);
    for (const each of fabric.interfaces) await this.#bringInterface(fabric, each, privateKey);
  }

  /** The private key that interfaces of another process, or of before, have; undefined where there are none. Hexadecimal. */
  async keyThere(): Promise<string | undefined> {
    for (const name of await this.#interfaces()) {
      const state = await (await this.#devices.found(name)).get().catch(() => undefined);
      if (state !== undefined && /[^0]/.test(state.privateKey)) return state.privateKey;
    }
    return undefined;
  }

  /** Has another private key from now on. */
  async turn(fabric: Fabric, privateKey: string): Promise<void> {
    for (const { name } of fabric.interfaces) await this.#devices.device(name).set([`private_key=${privateKey}`]);
  }

  /** A peer asks whether it may take another key on a lane. Whether that is known. */
  async arm(fabric: Fabric, siteId: string, lane: number, key: string): Promise<boolean> {
    const each = fabric.interfaces.find((of) => of.lane === lane);
    const [of, keys] = [fabric.peers.get(siteId), this.#keys.get(`${lane} ${siteId}`)];
    if (each === undefined || of === undefined || !keys?.arm(key, steadyNow(this.#clock))) return false;
    const device = this.#devices.device(each.name);
    const state = await device.get();
    this.#count(`${lane} ${siteId}`, state.peers.get(keys.active)?.receivedBytes ?? 0);
    if (key !== keys.active && state.peers.has(key)) await device.set([`public_key=${key}`, "remove=true"]);
    return true;
  }

  /** A peer says that it takes another key on a lane now. Where it is known, it has the ranges as soon as nothing comes by the one before. */
  async turned(fabric: Fabric, siteId: string, lane: number, key: string): Promise<void> {
    const each = fabric.interfaces.find((of) => of.lane === lane);
    const [of, keys] = [fabric.peers.get(siteId), this.#keys.get(`${lane} ${siteId}`)];
    if (each === undefined || of === undefined || keys === undefined || keys.active === key) return;
    const device = this.#devices.device(each.name);
    const before = keys.active;
    const state = await this.#quiet(device, before, this.#counted.get(`${lane} ${siteId}`)?.isBusy ?? false);
    if (!keys.turn(key, steadyNow(this.#clock))) return;
    this.#greeted.add(`${each.name} ${key}`);
    this.#bringPaths(fabric, lane);
    const wanted = this.#keyedPeers(of.checked, each, fabric, state, [before]);
    const there = new Map([...state.peers].filter(([known]) => wanted.has(known)));
    await device.set(wireguardChange(there, wanted));
  }

  /** Until nothing comes by a key any more. */
  async #quiet(device: WireguardDevice, key: string, isBusy: boolean): Promise<WireguardState> {
    const began = performance.now();
    let [state, since] = [await device.get(), performance.now()];
    for (;;) {
      await sleep(this.#clock, QUIET.lookMs);
      const next = await device.get();
      const now = performance.now();
      if (next.peers.get(key)?.receivedBytes !== state.peers.get(key)?.receivedBytes) since = now;
      state = next;
      if (now - since >= (isBusy ? QUIET.busyMs : QUIET.idleMs) || now - began >= QUIET.longestMs) return state;
    }
  }

  #count(of: string, bytes: number): void {
    const before = this.#counted.get(of);
    const at = performance.now();
    const isBusy = before !== undefined && (bytes - before.bytes) / (at - before.at) >= BUSY / 1000;
    this.#counted.set(of, { at, bytes, isBusy });
  }

  /** Where the interfaces stay: from `gone` to `come`, the peers that differ between the two. */
  async change(before: Fabric, after: Fabric, gone: Fabric["peers"], come: Fabric["peers"]): Promise<void> {
    for (const each of after.interfaces) {
      const device = this.#devices.device(each.name);
      const there = this.#wireguardPeers(gone, each, before);
      this.#bringKeys(after, each.lane);
      this.#bringPaths(after, each.lane);
      const wanted = this.#wireguardPeers(come, each, after);
      const state = [...wanted.keys()].every((key) => there.has(key)) ? undefined : await device.get();
      // A peer that has another key is still where it was heard of.
      if (state !== undefined)
        for (const { checked } of come.values())
          for (const [key, peer] of this.#keyedPeers(checked, each, after, state, keysOf(gone.get(checked.siteId))))
            if (wanted.has(key)) wanted.set(key, peer);
      await device.set(wireguardChange(there, wanted));
    }
  }

  /** Seeks peers that are silent elsewhere, and tells how links are. `answers` says how often a site is asked over a lane, where it answers. */
  async tend(fabric: Fabric, answers: (siteId: string, lane: number) => Answering): Promise<LinkReport[]> {
    this.#underlay.turn();
    const reports = new Map<string, LinkReport>();
    for (const each of fabric.interfaces) {
      const { name, lane } = each;
      const state = await this.#devices.device(name).get();
      const peers = new Map<string, WireguardPeer>();
      const isHandshaken = (siteId: string) => {
        const checked = fabric.peers.get(siteId)?.checked;
        const key = checked && this.#met(checked, lane).publicKey;
        return this.#clock.now() - (state.peers.get(key ?? "")?.handshakeSeconds ?? 0) * 1000 < SILENT_MS;
      };
      const gone: string[] = [];
      for (const { checked } of fabric.peers.values()) {
        const keys = this.#keys.get(`${lane} ${checked.siteId}`);
        const had = keys?.active ?? checked.publicKey;
        if (keys?.look(steadyNow(this.#clock), (key) => state.peers.get(key)?.handshakeSeconds)) {
          this.#bringPaths(fabric, lane);
          const wanted = this.#keyedPeers(checked, each, fabric, state, [had]);
          for (const [key, peer] of wanted) peers.set(key, peer);
          if (!wanted.has(had)) gone.push(had);
        }
        const met = this.#met(checked, lane);
        const seen = state.peers.get(met.publicKey) ?? state.peers.get(had);
        if (seen === undefined) continue;
        const isOfKey = seen.publicKey === met.publicKey;
        if (isOfKey && seen.handshakeSeconds > 0 && this.#greeted.delete(`${name} ${met.publicKey}`)) {
          const { endpoint } = seen;
          peers.set(met.publicKey, {
            ...this.#wireguardPeer(checked, each, fabric),
            ...(endpoint && { endpoint }),
          });
        }
        const isAnswering = answers(checked.siteId, lane);
        const { isMoved, ...look } = this.#pathsOf(lane).look(met, seen, isHandshaken, isAnswering);
        const before = reports.get(checked.siteId);
        const report = { ...withLane(before, checked.siteId, lane, seen), carrier: this.#devices.carrier };
        const path = await this.#pathReport(met, seen, look);
        const pathMtu = smaller(before?.pathMtu, path.pathMtu);
        // Where it is met is said of the first lane that is here.
        const isFirst = each === fabric.interfaces[0];
        const isTurning = before?.isTurning || keys?.isTurning();
        reports.set(checked.siteId, {
          ...report,
          ...(isFirst && path),
          ...(pathMtu !== undefined && { pathMtu }),
          ...(isTurning && { isTurning }),
        });
        if (isMoved) peers.set(met.publicKey, this.#wireguardPeer(checked, each, fabric));
      }
      const now = new Map([...state.peers].filter(([key]) => peers.has(key) || gone.includes(key)));
      await this.#devices.device(name).set(wireguardChange(now, peers));
    }
    return [...reports.values()];
  }

  /** WireGuard sends from where it was last reached, also where that is no longer: until it is told anew where a peer is. */
  async moved({ interfaces }: Fabric): Promise<void> {
    for (const { name } of interfaces) {
      const device = this.#devices.device(name);
      const met = [...(await device.get()).peers].filter(([, { endpoint }]) => endpoint !== undefined);
      await device.set(met.flatMap(([key, { endpoint }]) => [`public_key=${key}`, `endpoint=${endpoint}`]));
    }
  }

  /** A peer says over its link that it tries the direct way now. */
  invited(checked: CheckedPeer): void {
    this.#pathsOf(0).invited(this.#met(checked, 0));
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

  #forgetLanes(fabric: Fabric): void {
    for (const lane of this.#paths.keys())
      if (!fabric.interfaces.some((each) => each.lane === lane)) this.#paths.delete(lane);
  }

  #bringPaths(fabric: Fabric, lane: number): void {
    const there = [...fabric.peers].filter(([, { checked }]) => checked.lanes.length > lane);
    const peers = there.map(([siteId, peer]) => [siteId, { checked: this.#met(peer.checked, lane) }] as const);
    this.#pathsOf(lane).bring({ peers: new Map(peers) });
  }

  #bringKeys(fabric: Fabric, lane: number, state?: WireguardState): void {
    for (const key of this.#keys.keys()) {
      const [of, siteId = ""] = key.split(" ");
      if (of === String(lane) && !fabric.peers.has(siteId)) this.#keys.delete(key);
    }
    for (const [siteId, told] of toldKeys(fabric)) {
      const known = this.#keys.get(`${lane} ${siteId}`);
      known?.bring(told, steadyNow(this.#clock));
      if (known === undefined)
        this.#keys.set(`${lane} ${siteId}`, new PeerKeys(told, (key) => state?.peers.get(key)?.handshakeSeconds));
    }
  }

  /** A peer as it is met on one lane, by the key that it has there: those beyond the first are for where the two meet directly. */
  #met(checked: CheckedPeer, lane: number): CheckedPeer {
    const publicKey = this.#keys.get(`${lane} ${checked.siteId}`)?.active ?? checked.publicKey;
    if (lane === 0) return { ...checked, publicKey };
    const { fallback: _, tcp: __, ...met } = checked;
    return { ...met, publicKey, endpoints: checked.lanes[lane] ?? [] };
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
    const device = this.#devices.device(name);
    const state = await device.get();
    this.#bringKeys(fabric, lane, state);
    this.#bringPaths(fabric, lane);
    if (isNew)
      for (const { checked } of fabric.peers.values())
        this.#greeted.add(`${name} ${this.#met(checked, lane).publicKey}`);
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
    const bringIpv4 = async () => {
      if (fabric.lanes > 1) await this.#allowDetours(name);
      if (lane === 0) await this.#bringRelayAddress(name, fabric);
    };
    await Promise.all([
      own !== undefined && this.#bringLinkAddress(name, `${own}/${linkRange(lane).length}`),
      bringIpv4(),
    ]);
  }

  /** What the node has no mark for would go back by the first lane, or by another node: a strict look at that drops what comes by others. */
  async #allowDetours(name: string): Promise<void> {
    await this.#network.allowDetours(name).catch((error: unknown) => {
      this.#logger.warn("the node drops what comes by other lanes than the first: set its rp_filter to 2, or to 0", {
        reason: describeError(error),
      });
    });
  }

  /** With the way to all that are behind hubs, as a hub itself needs it. */
  async #bringRelayAddress(name: string, { relayAddress: own }: Fabric): Promise<void> {
    if (own === undefined)
      await this.#network.ip("-4", "address", "flush", "dev", name, "to", formatRange(RELAY_RANGE));
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
    return new Map(all.flatMap(({ checked }) => [...this.#keyedPeers(checked, each, fabric)]));
  }

  /** A peer by each of its keys: one has its ranges, and the others wait. Where none of them is yet, it is where one of `before` was heard of. */
  #keyedPeers(
    checked: CheckedPeer,
    each: FabricInterface,
    fabric: Fabric,
    state?: WireguardState,
    before: readonly string[] = [],
  ): Map<string, WireguardPeer> {
    const active = this.#wireguardPeer(checked, each, fabric);
    const standby = this.#keys.get(`${each.lane} ${checked.siteId}`)?.standby(steadyNow(this.#clock)) ?? [];
    const heard = [active.publicKey, ...before].flatMap((key) => state?.peers.get(key)?.endpoint ?? [])[0];
    const at = (key: string, endpoint = active.endpoint) => {
      const place = state?.peers.has(key) ? undefined : (heard ?? endpoint);
      return place === undefined ? {} : { endpoint: place };
    };
    const { endpoint: _, ...met } = active;
    const first = state === undefined ? active : { ...met, ...at(active.publicKey) };
    const waiting = standby.map((publicKey) => {
      // What keeps it alive asks for a session.
      return [publicKey, { publicKey, keepaliveSeconds: GREETING_SECONDS, ranges: [], ...at(publicKey) }] as const;
    });
    return new Map<string, WireguardPeer>([[active.publicKey, first], ...waiting]);
  }

  #wireguardPeer(checked: CheckedPeer, { name, lane }: FabricInterface, fabric: Fabric): WireguardPeer {
    const { publicKey, keepaliveSeconds } = this.#met(checked, lane);
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

/** By site. A next key that another one has too is nobody's. */
function toldKeys({ peers }: Fabric): Map<string, ToldKeys> {
  const owners = new Map<string, number>();
  for (const { checked } of peers.values())
    for (const key of keysOf({ checked })) owners.set(key, (owners.get(key) ?? 0) + 1);
  return new Map(
    [...peers].map(([siteId, { checked }]) => {
      const { publicKey: current, nextKey: next } = checked;
      return [siteId, { current, ...(next !== undefined && owners.get(next) === 1 && { next }) }];
    }),
  );
}

/** All that a peer names. */
function keysOf(peer: { readonly checked: CheckedPeer } | undefined): string[] {
  if (peer === undefined) return [];
  const { publicKey, nextKey } = peer.checked;
  return nextKey === undefined ? [publicKey] : [...new Set([publicKey, nextKey])];
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
