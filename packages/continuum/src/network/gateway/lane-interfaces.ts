import { type Clock, type Logger, steadyNow } from "@fjord/base";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { Fabric, FabricInterface } from "../fabric/fabric.ts";
import { wireguardChange } from "../fabric/wireguard-change.ts";
import { keysOf, LanePeers } from "./lane-peers.ts";
import { type LinkReport, withLane, withPath } from "./link-report.ts";
import { MadeInterfaces } from "./made-interfaces.ts";
import type { NodeNetwork } from "./node-network.ts";
import type { Answering } from "./path-choice.ts";
import { pathReport } from "./path-report.ts";
import { PeerPaths, type PeerPathsOptions } from "./peer-paths.ts";
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

/** WireGuard's interfaces on a node, one for each lane that it carries: the peers that each has, and where these are looked for. */
export class LaneInterfaces {
  readonly #clock: Clock;
  readonly #underlay: Underlay;
  readonly #devices: WireguardDevices;
  readonly #made: MadeInterfaces;
  /** By lane. */
  readonly #peers = new Map<number, LanePeers>();
  readonly #newPaths: () => PeerPaths;

  constructor({ network, prefix, wireguard, clock, logger, lookup }: LaneInterfacesOptions) {
    this.#clock = clock;
    this.#underlay = new Underlay(network, clock);
    this.#newPaths = () => new PeerPaths({ clock, logger, ...(lookup && { lookup }) });
    this.#devices = new WireguardDevices({ network, choice: wireguard, probeName: `${prefix}999`, logger });
    this.#made = new MadeInterfaces({ network, prefix, devices: this.#devices, logger });
  }

  /** What is to encrypt; `isNested` where a peer is, or may be, behind a hub. */
  choose(isNested: boolean): Promise<WireguardCarrier> {
    return this.#devices.choose(isNested);
  }

  /** Whatever is there becomes this. `privateKey` is hexadecimal. */
  async bring(fabric: Fabric, privateKey: string): Promise<void> {
    for (const [lane, peers] of this.#peers)
      if (!fabric.interfaces.some((each) => each.lane === lane)) peers.forgetPaths();
    await Promise.all([
      this.#made.removeOthers(fabric.interfaces),
      ...fabric.interfaces.map((each) => this.#bringInterface(fabric, each, privateKey)),
    ]);
  }

  /** Makes interfaces that are not used yet; those that were made so before, and are not among them, go. */
  async prepare(fabric: Pick<Fabric, "interfaces" | "mtu" | "lanes"> | undefined): Promise<void> {
    await this.#made.prepare(fabric);
  }

  /** The private key that interfaces of another process, or of before, have; undefined where there are none. Hexadecimal. */
  async keyThere(): Promise<string | undefined> {
    for (const name of await this.#made.names()) {
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
    const peers = this.#peersOf(lane);
    const keys = peers.keysOf(siteId);
    if (each === undefined || !fabric.peers.has(siteId) || !keys?.arm(key, steadyNow(this.#clock))) return false;
    const device = this.#devices.device(each.name);
    const state = await device.get();
    peers.arrivals.count(siteId, state.peers.get(keys.active)?.receivedBytes ?? 0);
    if (key !== keys.active && state.peers.has(key)) await device.set([`public_key=${key}`, "remove=true"]);
    return true;
  }

  /**
   * A peer says that it takes another key on a lane now. Where it is known, it has the ranges as soon as nothing comes by the one before: until then everything else waits, as it would
   * delay that. Of a key that is not known nobody has to wait.
   */
  async turned(fabric: Fabric, siteId: string, lane: number, key: string): Promise<void> {
    const each = fabric.interfaces.find((of) => of.lane === lane);
    const peers = this.#peersOf(lane);
    const [of, keys] = [fabric.peers.get(siteId), peers.keysOf(siteId)];
    if (each === undefined || of === undefined || !keys?.isOther(key)) return;
    const device = this.#devices.device(each.name);
    const before = keys.active;
    const state = await peers.arrivals.quiet(device, siteId, before);
    if (!keys.turn(key, steadyNow(this.#clock))) return;
    peers.greet(key);
    peers.bringPaths(fabric);
    const wanted = peers.keyed(of.checked, fabric, state, [before]);
    const there = new Map([...state.peers].filter(([known]) => wanted.has(known)));
    await device.set(wireguardChange(there, wanted));
  }

  /** Where the interfaces stay: from `gone` to `come`, the peers that differ between the two. */
  async change(before: Fabric, after: Fabric, gone: Fabric["peers"], come: Fabric["peers"]): Promise<void> {
    for (const { name, lane } of after.interfaces) {
      const device = this.#devices.device(name);
      const peers = this.#peersOf(lane);
      const there = peers.wanted(gone, before);
      peers.bring(after);
      const wanted = peers.wanted(come, after);
      // A peer that has another key is still where it was heard of; to tell where, WireGuard tells of all.
      const rekeyed = [...come.values()].filter(
        ({ checked }) =>
          gone.has(checked.siteId) && [...peers.keyed(checked, after).keys()].some((key) => !there.has(key)),
      );
      const state = rekeyed.length === 0 ? undefined : await device.get();
      for (const { checked } of rekeyed)
        for (const [key, peer] of peers.keyed(checked, after, state, keysOf(gone.get(checked.siteId))))
          if (wanted.has(key)) wanted.set(key, peer);
      await device.set(wireguardChange(there, wanted));
    }
  }

  /** Seeks peers that are silent elsewhere, and tells how links are. `answers` says how often a site is asked over a lane, where it answers. */
  async tend(fabric: Fabric, answers: (siteId: string, lane: number) => Answering): Promise<LinkReport[]> {
    this.#underlay.turn();
    const reports = new Map<string, LinkReport>();
    for (const each of fabric.interfaces) await this.#tendInterface(fabric, each, answers, reports);
    return [...reports.values()];
  }

  /** Adds to `reports` what is known of the lane. */
  async #tendInterface(
    fabric: Fabric,
    each: FabricInterface,
    answers: (siteId: string, lane: number) => Answering,
    reports: Map<string, LinkReport>,
  ): Promise<void> {
    const { name, lane } = each;
    const peers = this.#peersOf(lane);
    const state = await this.#devices.device(name).get();
    const { changed, gone, sights } = peers.look(fabric, state, (siteId) => answers(siteId, lane));
    const now = new Map([...state.peers].filter(([key]) => changed.has(key) || gone.includes(key)));
    await this.#devices.device(name).set(wireguardChange(now, changed));
    // Nobody waits for what the node says of its ways, as packets do for another one.
    for (const { checked, seen, look } of sights) {
      const before = reports.get(checked.siteId);
      const report = { ...withLane(before, checked.siteId, lane, seen), carrier: this.#devices.carrier };
      const path = await pathReport(this.#underlay, peers.met(checked), seen, look);
      // Where it is met is said of the first lane that is here.
      const isFirst = each === fabric.interfaces[0];
      const isTurning = peers.keysOf(checked.siteId)?.isTurning() ?? false;
      reports.set(checked.siteId, withPath(report, path, { isFirst, isTurning }));
    }
  }

  /** WireGuard sends from where it was last reached, also where that is no longer: until it is told anew where a peer is. */
  async moved({ interfaces }: Fabric): Promise<void> {
    for (const { name } of interfaces) {
      const device = this.#devices.device(name);
      const met = [...(await device.get()).peers].filter(([, { endpoint }]) => endpoint !== undefined);
      await device.set(met.flatMap(([key, { endpoint }]) => [`public_key=${key}`, `endpoint=${endpoint}`]));
    }
  }

  /** A peer says over its link that it tries the direct way now. Whether this end does so too. */
  invited(checked: CheckedPeer): boolean {
    const peers = this.#peersOf(0);
    return peers.paths.invited(peers.met(checked));
  }

  /** What is not as it shall be, in words. */
  async drift(fabric: Fabric): Promise<string[]> {
    const there = new Set(await this.#made.names());
    const drift: string[] = [];
    for (const each of fabric.interfaces) {
      const { name, lane } = each;
      if (!there.has(name)) {
        drift.push(`interface ${name} is gone`);
        continue;
      }
      drift.push(...(await this.#made.drift(fabric, each)));
      const seen = await this.#devices
        .device(name)
        .get()
        .catch(() => undefined);
      // Where a peer is heard of is its own business.
      const wanted = [...this.#peersOf(lane).wanted(fabric.peers, fabric)].map(
        ([key, { endpoint: _, ...peer }]) => [key, peer] as const,
      );
      if (seen === undefined) drift.push(`WireGuard of ${name} does not answer`);
      else if (wireguardChange(seen.peers, new Map(wanted)).length > 0)
        drift.push(`WireGuard of ${name} has other peers`);
    }
    return drift;
  }

  /** Takes all of them away, whoever has made them. When links come back here, peers may be elsewhere, by other keys, and are looked for as if for the first time. */
  async remove(): Promise<void> {
    this.#peers.clear();
    await this.#made.remove();
  }

  #peersOf(lane: number): LanePeers {
    const peers = this.#peers.get(lane) ?? new LanePeers({ lane, clock: this.#clock, newPaths: this.#newPaths });
    this.#peers.set(lane, peers);
    return peers;
  }

  async #bringInterface(fabric: Fabric, each: FabricInterface, privateKey: string): Promise<void> {
    const { name, lane, listenPort } = each;
    const isPrepared = await this.#made.takePrepared(fabric, each);
    const isNew = isPrepared || (await this.#devices.bring(name));
    const device = this.#devices.device(name);
    const state = await device.get();
    const peers = this.#peersOf(lane);
    peers.bring(fabric, state);
    if (isNew) for (const { checked } of fabric.peers.values()) peers.greet(peers.met(checked).publicKey);
    const lines: string[] = [];
    if (state.privateKey !== privateKey) lines.push(`private_key=${privateKey}`);
    if (state.listenPort !== listenPort) lines.push(`listen_port=${listenPort}`);
    const wanted = peers.wantedWhereHeard(fabric, state);
    await device.set([...lines, ...wireguardChange(state.peers, wanted)]);
    if (!isPrepared) await this.#made.bringUp(fabric, each);
    if (lane === 0 && !(isPrepared && fabric.relayAddress === undefined))
      await this.#made.bringRelayAddress(name, fabric);
  }
}
