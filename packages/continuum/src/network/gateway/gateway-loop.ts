import { type Clock, describeError, type Logger, sleep, steadyNow } from "@fjord/base";
import type { Captures } from "../capture/captures.ts";
import type { DeniedPackets } from "../fabric/denied-packets.ts";
import { sameState } from "../fabric/peer-text.ts";
import type { WayState } from "../fabric/way.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import type { Fence } from "./fence.ts";
import type { Gateway } from "./gateway.ts";
import { LaneLife } from "./lane-life.ts";
import { type PeerSigns, togetherOf } from "./link-life.ts";
import type { LinkProbe, ProbedLink } from "./link-probe.ts";
import type { LaneReport, LinkReport } from "./link-report.ts";
import type { NodeWay } from "./node-way.ts";
import type { OwnKey } from "./own-key.ts";

export interface GatewayWish {
  readonly state: NetworkState;
  /** The site's of WireGuard, in base64. */
  readonly privateKey: string;
  /** When that key was made, in milliseconds since the epoch, where it is known. */
  readonly keyMadeAt?: number;
}

/** What a node shall be. */
export interface NodeWish {
  /** Present where it carries the site's links. */
  readonly carries?: GatewayWish;
  /** How it, or how others, reach the node that carries them; absent where the site's nodes are none of its business. */
  readonly way?: WayState;
  /** What it is to carry besides when another node falls silent: made ready before. @default nothing */
  readonly inherits?: NetworkState;
}

/** What a node shall be; undefined while that is not known, and then everything stays as it is. */
export interface GatewaySource {
  read(): Promise<NodeWish | undefined>;
  /** Calls whoever does not want to wait until it reads again. */
  onChange?(listener: () => void): () => void;
}

/** Hears what a loop does. */
export interface LoopObserver {
  /** Whether the node's network is what it shall be, also where nothing is known that it shall be. */
  brought(isApplied: boolean): void;
  /** So many things were changed by others, and were put back. */
  drifted(count: number): void;
  /** So many packets were dropped in all. */
  denied(packets: DeniedPackets): void;
  linked(links: readonly SeenReport[]): void;
  /** Lanes that the node carries. */
  carried(lanes: readonly number[]): void;
  keyMade(at: number | undefined): void;
}

export interface GatewayLoopOptions {
  readonly gateway: Pick<
    Gateway,
    "prepare" | "apply" | "check" | "denied" | "tend" | "invited" | "moved" | "forget" | "remove"
  >;
  readonly way?: Pick<NodeWay, "apply" | "check" | "heir">;
  /** Silences links that another node may have taken over, when this process is no more. @default they go on */
  readonly fence?: Pick<Fence, "keep" | "leave" | "remove">;
  /** What somebody looks at, which follows the links. @default nobody does */
  readonly captures?: Pick<Captures, "bring" | "check">;
  readonly source: GatewaySource;
  /** Tells at once when others change the node's network. @default it is seen when it is looked at */
  readonly watch?: { run(changed: () => void, signal: AbortSignal, moved?: () => void): Promise<void> };
  readonly clock: Clock;
  readonly logger: Logger;
  /** How often the source is read, and links are looked after. @default 1,000 */
  readonly tickMs?: number;
  /** How often everything is compared with what it shall be. @default 30,000 */
  readonly checkMs?: number;
  /** Asks peers over one lane of their links, which needs the state's `siteId`. @default nobody is asked */
  readonly probe?: (lane: number) => LaneProbe;
  readonly observer?: LoopObserver;
  /** Says when another key of the site is used. @default at once */
  readonly ownKey?: OwnKey;
  /** Hears how links are, at every tick. */
  readonly told?: (reports: readonly SeenReport[]) => Promise<void>;
}

/** Smaller packets nobody need be able to send. */
const SMALLEST = 576;
/** Where links have several lanes, so that a silent one is found out in time. */
const LANES_TICK_MS = 500;

/** While somebody owes an answer: whether he has fallen silent is to be known soon. */
const LATE_MS = 200;

type LaneProbe = Pick<
  LinkProbe,
  | "tick"
  | "seen"
  | "signs"
  | "answeredAt"
  | "isLate"
  | "hurry"
  | "invite"
  | "onInvited"
  | "onLate"
  | "say"
  | "onSaid"
  | "close"
>;

/** How often links are looked after while a better way to a peer is tried, which lasts two seconds, or a key is about to change. */
const TRYING_MS = 100;

/** What is known of a link, by WireGuard and by probes. */
export type SeenReport = Omit<LinkReport, "lanes"> &
  ProbedLink & {
    /** Of life; absent where it is not asked. */
    readonly signs?: PeerSigns;
    readonly lanes?: readonly (LaneReport & { readonly silent: boolean })[];
    /** The own key that is to be used next. */
    readonly nextKey?: string;
  };

/** Keeps a node at what its source says. What it has made stays when it ends: traffic goes on, and the next one takes over. */
export class GatewayLoop {
  readonly #options: GatewayLoopOptions;
  #applied: Pick<GatewayWish, "state" | "privateKey"> | undefined;
  #appliedWay = "";
  /** Unknown before the first step: another process may have left a gateway here. */
  #carries: boolean | undefined;
  #isFenced: boolean | undefined;
  /** Those that it was brought to carry last. */
  #lanes = "";
  /** What is ready for lanes that others may leave; undefined where that is to be looked at. */
  #ready: string | undefined = "";
  #checkedAt = 0;
  /** Somebody else has changed something. */
  #isSuspect = false;
  /** By site: the largest packet that the node can send there in one piece. */
  readonly #pathMtus = new Map<string, number>();
  #isTrying = false;
  #wake = new AbortController();
  readonly #probes = new Map<number, LaneProbe>();
  /** By lane and site. */
  readonly #lives = new Map<string, LaneLife>();
  #hasLanes = false;
  /** Peers with what was measured, by what was asked for: the same object as long as both stay. */
  readonly #measures = new WeakMap<PeerNetwork, PeerNetwork>();
  /** Ids of peers that are asked every second. */
  #often: ReadonlySet<string> = new Set();
  /** Whether other nodes have some of them. */
  #isShared = false;
  /** By what was attempted: said once for each reason, as it is tried again every second. */
  readonly #complaints = new Map<string, string>();

  constructor(options: GatewayLoopOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, source, tickMs = 1000 } = this.#options;
    this.#checkedAt = steadyNow(clock);
    const release = source.onChange?.(() => this.#wake.abort());
    const changed = () => {
      this.#isSuspect = true;
      this.#wake.abort();
    };
    const moved = () =>
      void this.#options.gateway.moved().catch((error: unknown) => {
        // Peers are dialled anew by their silence, too, only later.
        this.#options.logger.warn("cannot send from another address", { error: describeError(error) });
      });
    const watching = this.#options.watch?.run(changed, signal, moved);
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const wanted = await this.#step();
      if (wanted !== undefined) await this.#makeReady(wanted.inherits);
      const often = this.#isTrying ? TRYING_MS : this.#isLate ? LATE_MS : this.#hasLanes ? LANES_TICK_MS : tickMs;
      await sleep(clock, Math.min(often, tickMs), AbortSignal.any([signal, this.#wake.signal]));
    }
    release?.();
    await watching;
    await this.#options.fence?.leave();
    this.#closeProbes();
  }

  /** Resolves with what is wanted, where that is known. */
  async #step(): Promise<NodeWish | undefined> {
    const { source, gateway, told, observer } = this.#options;
    // Of those that have answered before, silence means something.
    const answers = (siteId: string, lane: number) => {
      if (this.#probes.get(lane)?.seen(siteId).lossPercent === undefined) return undefined;
      return this.#often.has(siteId) ? "often" : "seldom";
    };
    const read = await this.#attempt("what links shall be cannot be read", async () => ({ wish: await source.read() }));
    const wanted = read?.wish;
    if (read !== undefined && wanted === undefined) observer?.brought(this.#complaints.size === 0);
    if (wanted === undefined) return undefined;
    const reports = await this.#attempt("the node's network cannot be brought to what it shall be", async () => {
      try {
        await this.#bring(wanted);
        return wanted.carries === undefined ? [] : await gateway.tend(answers);
      } catch (error) {
        this.#applied = undefined;
        this.#appliedWay = "";
        gateway.forget();
        throw error;
      }
    });
    observer?.brought(reports !== undefined);
    observer?.keyMade(wanted.carries?.keyMadeAt);
    if (reports !== undefined) observer?.carried(wanted.carries === undefined ? [] : lanesOf(wanted.carries.state));
    if (wanted.carries === undefined) observer?.linked([]);
    const { ownKey } = this.#options;
    this.#isTrying =
      (wanted.carries !== undefined && ownKey?.isTurning) ||
      (reports?.some(({ isTrying, isTurning }) => isTrying || isTurning) ?? false);
    if (reports === undefined || wanted.carries === undefined) return wanted;
    for (const { siteId, pathMtu } of reports) if (pathMtu !== undefined) this.#pathMtus.set(siteId, pathMtu);
    const { siteId } = wanted.carries.state;
    const linked = await this.#probed(reports, wanted.carries.state);
    if (siteId !== undefined) await ownKey?.step(siteId, this.#linked(reports));
    const nextKey = ownKey?.next;
    const seen = linked.map((each) => ({ ...each, ...(nextKey !== undefined && { nextKey }) }));
    observer?.linked(seen);
    await this.#attempt("nobody hears how links are", async () => await told?.(seen));
    return wanted;
  }

  /** Once nothing else is to be done: nobody waits for it yet. */
  async #makeReady(inherits: NetworkState | undefined): Promise<void> {
    const { siteId = "", mtu, listenPort, parallel, carried } = inherits ?? {};
    const text = inherits === undefined ? "" : JSON.stringify([siteId, mtu, listenPort, parallel, carried]);
    if (text === this.#ready) return;
    await this.#attempt("what another node may leave is not made ready for", async () => {
      await this.#options.gateway.prepare(inherits);
      this.#ready = text;
    });
  }

  /** Those that are asked, by lane. */
  #linked(reports: readonly LinkReport[]): Map<number, string[]> {
    const has = ({ lanes = [] }: LinkReport, lane: number) => lanes.some((each) => each.lane === lane);
    const on = (lane: number) => reports.filter((each) => has(each, lane)).map(({ siteId }) => siteId);
    return new Map([...this.#probes.keys()].map((lane) => [lane, on(lane)]));
  }

  async #probed(reports: readonly LinkReport[], state: NetworkState): Promise<SeenReport[]> {
    const { siteId, mtu, peers: all } = state;
    const linked = reports.filter(({ fault }) => fault === undefined);
    const lanes = lanesOf(state);
    for (const lane of [...this.#probes.keys()].filter((each) => !lanes.includes(each))) this.#closeProbe(lane);
    const laned = lanedPeers(state);
    this.#hasLanes = laned.size > 0;
    const turning = this.#options.ownKey?.isTurning ? all.map((each) => each.siteId) : [];
    this.#often = new Set([...askedOften(all), ...laned, ...turning]);
    for (const lane of lanes) {
      const probe = this.#probe(lane);
      if (siteId === undefined) continue;
      const peers = linked.filter((each) => lane === 0 || each.lanes?.some((of) => of.lane === lane));
      await probe?.tick(
        siteId,
        peers.map((each) => each.siteId),
        mtu,
        lane === 0 ? this.#often : new Set([...laned, ...turning]),
        ...(laned.size + turning.length > 0 ? [LANES_TICK_MS] : []),
      );
      if (lane === 0) for (const each of reports) if (each.isInvited || each.isTrying) probe?.invite(each.siteId);
    }
    const silent = new Map(all.map((peer) => [peer.siteId, this.#silentLanes(peer, state)]));
    return reports.map(({ lanes: ofLanes = [], ...report }) => {
      const seen = this.#seen(report.siteId);
      const signs = this.#signs(report.siteId);
      return {
        ...report,
        ...seen,
        ...(signs && { signs }),
        ...(seen.mtu !== undefined && { mtu: this.#capped(report.siteId, seen.mtu, mtu) }),
        ...(laned.has(report.siteId) && {
          lanes: ofLanes.map((each) => ({ ...each, silent: silent.get(report.siteId)?.includes(each.lane) ?? true })),
        }),
      };
    });
  }

  #probe(lane: number): LaneProbe | undefined {
    const known = this.#probes.get(lane);
    const probe = known ?? this.#options.probe?.(lane);
    if (probe === undefined || known !== undefined) return known;
    this.#probes.set(lane, probe);
    this.#options.ownKey?.attach(lane, probe);
    probe.onLate(() => this.#wake.abort());
    if (lane === 0)
      probe.onInvited((siteId) => {
        this.#options.gateway.invited(siteId);
        this.#wake.abort();
      });
    return probe;
  }

  #closeProbe(lane: number): void {
    this.#probes.get(lane)?.close();
    this.#probes.delete(lane);
    for (const key of this.#lives.keys()) if (key.startsWith(`${lane} `)) this.#lives.delete(key);
  }

  /** Whether somebody owes an answer, who gave one before. */
  get #isLate(): boolean {
    return this.#probes.values().some((probe) => probe.isLate);
  }

  #closeProbes(): void {
    for (const lane of this.#probes.keys()) this.#closeProbe(lane);
  }

  /** By the first of its lanes that are here; packets are to get through by any of them. */
  #seen(siteId: string): ProbedLink {
    const all = [...this.#probes].sort(([one], [other]) => one - other).map(([, probe]) => probe.seen(siteId));
    const mtus = all.flatMap(({ mtu }) => mtu ?? []);
    return { ...all[0], ...(mtus.length > 0 && { mtu: Math.min(...mtus) }) };
  }

  /** By any of its lanes. */
  #signs(siteId: string): PeerSigns | undefined {
    const all = [...this.#probes.values()].flatMap((probe) => probe.signs(siteId) ?? []);
    return all.length === 0 ? undefined : togetherOf(all);
  }

  #life(siteId: string, lane: number): LaneLife {
    const key = `${lane} ${siteId}`;
    const life = this.#lives.get(key) ?? new LaneLife(this.#isShared);
    this.#lives.set(key, life);
    return life;
  }

  /** Of a peer's lanes those that are here and silent. One that answers again is taken when it is proven, and at once where no other does, here or by the word of other nodes. */
  #silentLanes({ siteId, link }: PeerNetwork, state: NetworkState): number[] {
    const all = Array.from({ length: laneCountOf(link, state) }, (_, lane) => lane);
    const here = lanesOf(state).filter((lane) => lane < all.length);
    const now = steadyNow(this.#options.clock);
    const look = (lane: number) => this.#life(siteId, lane).look(now, this.#probes.get(lane)?.answeredAt(siteId));
    const states = new Map(here.map((lane) => [lane, look(lane)]));
    const isAlive = (lane: number) => (states.has(lane) ? states.get(lane) === "alive" : !link.silent?.includes(lane));
    if (all.some(isAlive)) return here.filter((lane) => states.get(lane) !== "alive");
    for (const lane of here) if (states.get(lane) === "proving") this.#life(siteId, lane).take();
    return here.filter((lane) => states.get(lane) === "silent");
  }

  /**
   * Of lanes that are here, nobody else need be asked how they are. Where other nodes have some, they are told first that one is silent: they would else go on to send what is
   * for it here, and from here it would go back to them.
   */
  #withLives(peers: readonly PeerNetwork[], state: NetworkState): readonly PeerNetwork[] {
    const here = lanesOf(state);
    const laned = lanedPeers(state);
    this.#isShared = here.length < (state.parallel ?? 1);
    return peers.map((peer) => {
      if (!laned.has(peer.siteId)) return peer;
      const { silent: told = [], ...link } = peer.link;
      const silent = [
        ...this.#silentLanes(peer, state).filter((lane) => !this.#isShared || told.includes(lane)),
        ...told.filter((lane) => !here.includes(lane)),
      ].sort((one, other) => one - other);
      return { ...peer, link: { ...link, ...(silent.length > 0 && { silent }) } };
    });
  }

  /** Links before the way is given up, and the way before links are: there is always one of them. */
  async #bring({ carries, way }: NodeWish): Promise<void> {
    const { gateway, clock, logger, checkMs = 30_000 } = this.#options;
    // Where nobody else could carry them, they need not end with this process.
    const isFenced = (way?.nodes.length ?? 0) > 0;
    if (carries !== undefined) await this.#bringFence(carries, isFenced);
    if (carries !== undefined) await this.#bringLinks(carries);
    const lanes = carries === undefined ? "" : lanesOf(carries.state).join();
    const isNew = lanes !== "" && (this.#carries !== true || this.#lanes !== lanes);
    this.#lanes = lanes;
    // Other nodes need not wait until everything else is done here.
    const saying = isNew && this.#attempt("nobody hears how links are", async () => await this.#options.told?.([]));
    if (way !== undefined) await this.#bringWay(way);
    await saying;
    // With the way to who takes over, once that is there.
    if (carries !== undefined && isFenced) await this.#bringFence(carries, isFenced);
    if (carries === undefined && this.#carries !== false) {
      this.#closeProbes();
      await gateway.remove();
      await this.#options.fence?.remove();
      this.#ready = "";
      this.#isFenced = false;
      this.#applied = undefined;
      if (this.#carries) logger.info("another node carries the links");
    }
    this.#carries = carries !== undefined;
    await this.#options.captures?.bring();
    // It takes a while where the machine is busy, and who owes an answer may have fallen silent: that is to be known, and told, before.
    // Among many peers there may always be one.
    const sinceMs = steadyNow(clock) - this.#checkedAt;
    const isDue = sinceMs >= (this.#isLate ? 2 * checkMs : checkMs);
    if (!this.#isSuspect && !isDue) return;
    this.#isSuspect = false;
    this.#checkedAt = steadyNow(clock);
    if (this.#ready !== "") this.#ready = undefined;
    const drift = carries === undefined ? [] : await gateway.check();
    const ofWay = (await this.#options.way?.check()) ?? [];
    const ofCaptures = (await this.#options.captures?.check()) ?? [];
    this.#options.observer?.drifted(drift.length + ofWay.length + ofCaptures.length);
    this.#options.observer?.denied(gateway.denied);
  }

  async #bringFence({ state }: GatewayWish, isWanted: boolean): Promise<void> {
    const { fence } = this.#options;
    const ports = lanesOf(state).map((lane) => state.listenPort + lane);
    if (isWanted) await fence?.keep(ports, this.#options.way?.heir);
    else if (this.#isFenced !== false) await fence?.remove();
    this.#isFenced = isWanted;
  }

  async #bringLinks({ state: wanted, privateKey: wantedKey }: GatewayWish): Promise<void> {
    const { gateway, logger, ownKey } = this.#options;
    const privateKey = ownKey === undefined ? wantedKey : await ownKey.using(wantedKey);
    const peers = wanted.peers.map((peer) => this.#measured(peer, wanted.mtu));
    const state = { ...wanted, peers: this.#withLives(peers, wanted) };
    const before = this.#applied;
    if (before?.privateKey === privateKey && sameState(before.state, state)) return;
    await gateway.apply(state, privateKey);
    this.#applied = { state, privateKey };
    // What was made anew agrees on keys when something is sent.
    for (const probe of this.#probes.values()) probe.hurry();
    logger.info("the node's network is as it shall be", { peers: state.peers.length });
  }

  /** No larger packets are sent to a peer than were seen to get there; what was known before holds until then. */
  #measured(peer: PeerNetwork, largest: number): PeerNetwork {
    const seen = this.#seen(peer.siteId).mtu ?? peer.mtu ?? largest;
    const capped = this.#capped(peer.siteId, seen, largest);
    const mtu = capped >= largest ? undefined : capped;
    if (mtu === peer.mtu) return peer;
    const known = this.#measures.get(peer);
    if (known !== undefined && known.mtu === mtu) return known;
    const { mtu: _, ...rest } = peer;
    const measured = mtu === undefined ? rest : { ...rest, mtu };
    this.#measures.set(peer, measured);
    return measured;
  }

  /** By what the node can send there in one piece. WireGuard fills up to sixteens, but not beyond the interface's. */
  #capped(siteId: string, mtu: number, largest: number): number {
    const path = this.#pathMtus.get(siteId) ?? largest;
    return path >= largest ? mtu : Math.min(mtu, Math.max(Math.floor(path / 16) * 16, SMALLEST));
  }

  async #bringWay(way: WayState): Promise<void> {
    const text = JSON.stringify(way);
    if (text === this.#appliedWay) return;
    await this.#options.way?.apply(way);
    this.#appliedWay = text;
    this.#options.logger.info("the node's way to the gateway is as it shall be", { gateway: way.gateway });
  }

  /** Undefined where it fails. */
  async #attempt<T>(failure: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      this.#complaints.delete(failure);
      return result;
    } catch (error) {
      const reason = describeError(error);
      if (this.#complaints.get(failure) !== reason) this.#options.logger.error(failure, { reason });
      this.#complaints.set(failure, reason);
      return undefined;
    }
  }
}

/** Whose silence somebody would notice: who shares something with this site, or is a hub or behind one. */
function askedOften(peers: readonly PeerNetwork[]): Set<string> {
  const hubs = new Set(peers.flatMap(({ link }) => link.via ?? link.fallback?.via ?? []));
  const isUsed = ({ siteId, groups, relayTo = [] }: PeerNetwork) =>
    hubs.has(siteId) || relayTo.length > 0 || groups.some(({ local, remote }) => local.length > 0 && remote.length > 0);
  return new Set(peers.filter(isUsed).map(({ siteId }) => siteId));
}

/** Those that this node carries. */
function lanesOf({ parallel = 1, carried }: NetworkState): readonly number[] {
  return carried ?? Array.from({ length: parallel }, (_, lane) => lane);
}

/** How many there are to a peer. */
function laneCountOf(link: PeerNetwork["link"], { parallel = 1 }: NetworkState): number {
  return 1 + (link.lanes?.length ?? parallel - 1);
}

/** Ids of peers to which there is more than one. */
function lanedPeers({ parallel = 1, peers }: NetworkState): Set<string> {
  if (parallel < 2) return new Set();
  const laned = peers.filter(({ link }) => link.via === undefined && link.lanes?.length !== 0);
  return new Set(laned.map(({ siteId }) => siteId));
}
