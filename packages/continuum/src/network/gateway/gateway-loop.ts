import { type Clock, describeError, type Logger, sleep, steadyNow } from "@fjord/base";
import type { Captures } from "../capture/captures.ts";
import { sameState } from "../fabric/peer-text.ts";
import type { WayState } from "../fabric/way.ts";
import type { NetworkState, PeerNetwork } from "../network-state.ts";
import { LANES_TICK_MS } from "./asked-peers.ts";
import { Attempts } from "./attempts.ts";
import { lanedPeers, lanesOf } from "./carried-lanes.ts";
import type { Fence } from "./fence.ts";
import type { Gateway } from "./gateway.ts";
import type { GatewaySource, GatewayWish, NodeWish } from "./gateway-source.ts";
import { KeyHurry } from "./key-hurry.ts";
import { type LaneProbe, LaneProbes } from "./lane-probes.ts";
import type { LinkReport, SeenReport } from "./link-report.ts";
import type { LoopObserver } from "./loop-observer.ts";
import type { NodeWay } from "./node-way.ts";
import type { OwnKey } from "./own-key.ts";
import { PeerMtus } from "./peer-mtus.ts";
import type { UnansweredFlows } from "./unanswered-flows.ts";

export interface GatewayLoopOptions {
  readonly gateway: Pick<
    Gateway,
    "prepare" | "apply" | "check" | "denied" | "tend" | "invited" | "moved" | "forget" | "remove"
  >;
  readonly way?: Pick<NodeWay, "apply" | "check" | "heir">;
  /** Silences links that another node may have taken over, when this process is no more. @default they go on */
  readonly fence?: Pick<Fence, "keep" | "leave" | "remove">;
  /** Has connections begin anew that silent peers have not answered. @default they are left to the kernel */
  readonly unanswered?: Pick<UnansweredFlows, "keep" | "close">;
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

/** While somebody owes an answer: whether he has fallen silent is to be known soon. */
const LATE_MS = 200;

/** How often links are looked after while a better way to a peer is tried, which lasts two seconds, or a key is about to change. */
const TRYING_MS = 100;

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
  #isTrying = false;
  #wake = new AbortController();
  readonly #probes: LaneProbes;
  readonly #mtus = new PeerMtus();
  readonly #attempts: Attempts;
  readonly #keyHurry: KeyHurry;

  constructor(options: GatewayLoopOptions) {
    this.#options = options;
    this.#keyHurry = new KeyHurry(options.clock);
    this.#probes = new LaneProbes(options.clock, (lane) => this.#openProbe(lane));
    this.#attempts = new Attempts(options.logger);
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
      await sleep(clock, Math.min(this.#restMs, tickMs), AbortSignal.any([signal, this.#wake.signal]));
    }
    release?.();
    await watching;
    await this.#options.fence?.leave();
    await this.#options.unanswered?.close();
    this.#probes.close();
  }

  /** Resolves with what is wanted, where that is known. */
  async #step(): Promise<NodeWish | undefined> {
    const { source, gateway, observer, ownKey } = this.#options;
    const read = await this.#attempts.make("what links shall be cannot be read", async () => ({
      wish: await source.read(),
    }));
    const wanted = read?.wish;
    if (read !== undefined && wanted === undefined) observer?.brought(this.#attempts.areDone);
    if (wanted === undefined) return undefined;
    this.#options.unanswered?.keep(wanted.silent ?? []);
    const answers = (siteId: string, lane: number) => this.#probes.answering(siteId, lane);
    const reports = await this.#attempts.make("the node's network cannot be brought to what it shall be", async () => {
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
    const turning = (reports ?? []).flatMap(({ siteId, isTurning }) => (isTurning ? siteId : []));
    const isOwn = wanted.carries !== undefined && ownKey?.isTurning === true;
    this.#isTrying =
      this.#keyHurry.isFor(turning) || isOwn || (reports?.some(({ isTrying }) => isTrying === true) ?? false);
    if (reports !== undefined && wanted.carries !== undefined) await this.#look(reports, wanted.carries.state);
    return wanted;
  }

  /** Asks peers, and tells how links are. */
  async #look(reports: readonly LinkReport[], state: NetworkState): Promise<void> {
    const { ownKey, observer } = this.#options;
    for (const { siteId, pathMtu } of reports) this.#mtus.note(siteId, pathMtu);
    this.#mtus.keepOnly(new Set(state.peers.map(({ siteId }) => siteId)));
    const linked = await this.#probed(reports, state);
    if (state.siteId !== undefined) await ownKey?.step(state.siteId, this.#probes.linked(reports));
    const nextKey = ownKey?.next;
    const seen = linked.map((each) => ({ ...each, ...(nextKey !== undefined && { nextKey }) }));
    observer?.linked(seen);
    await this.#tell(seen);
  }

  async #tell(seen: readonly SeenReport[]): Promise<void> {
    await this.#attempts.make("nobody hears how links are", async () => await this.#options.told?.(seen));
  }

  /** Once nothing else is to be done: nobody waits for it yet. */
  async #makeReady(inherits: NetworkState | undefined): Promise<void> {
    const { siteId = "", mtu, listenPort, parallel, carried } = inherits ?? {};
    const text = inherits === undefined ? "" : JSON.stringify([siteId, mtu, listenPort, parallel, carried]);
    if (text === this.#ready) return;
    await this.#attempts.make("what another node may leave is not made ready for", async () => {
      await this.#options.gateway.prepare(inherits);
      this.#ready = text;
    });
  }

  async #probed(reports: readonly LinkReport[], state: NetworkState): Promise<SeenReport[]> {
    await this.#probes.tick(reports, state, this.#options.ownKey?.isTurning ?? false);
    const laned = lanedPeers(state);
    const { lives } = this.#probes;
    const silent = new Map(state.peers.map((peer) => [peer.siteId, lives.silentLanes(peer, state)]));
    return reports.map(({ lanes = [], ...report }) => {
      const seen = this.#probes.seen(report.siteId);
      const signs = this.#probes.signs(report.siteId);
      return {
        ...report,
        ...seen,
        ...(signs && { signs }),
        ...(seen.mtu !== undefined && {
          mtu: Math.min(this.#mtus.capped(report.siteId, seen.mtu, state.mtu), report.routeMtu ?? state.mtu),
        }),
        ...(laned.has(report.siteId) && {
          lanes: lanes.map((each) => ({ ...each, silent: silent.get(report.siteId)?.includes(each.lane) ?? true })),
        }),
      };
    });
  }

  #openProbe(lane: number): LaneProbe | undefined {
    const { probe: open, ownKey, gateway } = this.#options;
    const probe = open?.(lane);
    if (probe === undefined) return undefined;
    ownKey?.attach(lane, probe);
    probe.onLate(() => this.#wake.abort());
    if (lane === 0)
      probe.onInvited((siteId) => {
        // It may say so two hundred times a second, and all links are looked after each time.
        if (gateway.invited(siteId)) this.#wake.abort();
      });
    return probe;
  }

  get #restMs(): number {
    if (this.#isTrying) return TRYING_MS;
    if (this.#probes.isLate) return LATE_MS;
    return this.#probes.hasLanes ? LANES_TICK_MS : Number.POSITIVE_INFINITY;
  }

  /** Links before the way is given up, and the way before links are: there is always one of them. */
  async #bring({ carries, way }: NodeWish): Promise<void> {
    // Where nobody else could carry them, they need not end with this process.
    const isFenced = (way?.nodes.length ?? 0) > 0;
    if (carries !== undefined) await this.#bringFence(carries, isFenced);
    if (carries !== undefined) await this.#bringLinks(carries);
    const lanes = carries === undefined ? "" : lanesOf(carries.state).join();
    const isNew = lanes !== "" && (this.#carries !== true || this.#lanes !== lanes);
    this.#lanes = lanes;
    // Other nodes need not wait until everything else is done here.
    const saying = isNew && this.#tell([]);
    if (way !== undefined) await this.#bringWay(way);
    await saying;
    // With the way to who takes over, once that is there.
    if (carries !== undefined && isFenced) await this.#bringFence(carries, isFenced);
    if (carries === undefined && this.#carries !== false) await this.#removeLinks();
    this.#carries = carries !== undefined;
    await this.#options.captures?.bring();
    if (this.#isSuspect || this.#isCheckDue) await this.#check();
  }

  async #removeLinks(): Promise<void> {
    this.#probes.close();
    await this.#options.gateway.remove();
    await this.#options.fence?.remove();
    this.#ready = "";
    this.#isFenced = false;
    this.#applied = undefined;
    if (this.#carries) this.#options.logger.info("another node carries the links");
  }

  get #isCheckDue(): boolean {
    const { clock, checkMs = 30_000 } = this.#options;
    // It takes a while where the machine is busy, and who owes an answer may have fallen silent: that is to be known, and told, before.
    // Among many peers there may always be one.
    const sinceMs = steadyNow(clock) - this.#checkedAt;
    return sinceMs >= (this.#probes.isLate ? 2 * checkMs : checkMs);
  }

  async #check(): Promise<void> {
    const { gateway, way, captures, observer, clock } = this.#options;
    this.#isSuspect = false;
    this.#checkedAt = steadyNow(clock);
    if (this.#ready !== "") this.#ready = undefined;
    const drift = this.#carries ? await gateway.check() : [];
    const ofWay = (await way?.check()) ?? [];
    const ofCaptures = (await captures?.check()) ?? [];
    observer?.drifted(drift.length + ofWay.length + ofCaptures.length);
    observer?.denied(gateway.denied);
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
    const measured = (peer: PeerNetwork) => this.#mtus.measured(peer, this.#probes.seen(peer.siteId).mtu, wanted.mtu);
    const state = { ...wanted, peers: this.#probes.lives.withSilent(wanted.peers.map(measured), wanted) };
    const before = this.#applied;
    if (before?.privateKey === privateKey && sameState(before.state, state)) return;
    await gateway.apply(state, privateKey);
    this.#applied = { state, privateKey };
    // What was made anew agrees on keys when something is sent.
    this.#probes.hurry();
    logger.info("the node's network is as it shall be", { peers: state.peers.length });
  }

  async #bringWay(way: WayState): Promise<void> {
    const text = JSON.stringify(way);
    if (text === this.#appliedWay) return;
    await this.#options.way?.apply(way);
    this.#appliedWay = text;
    this.#options.logger.info("the node's way to the gateway is as it shall be", { gateway: way.gateway });
  }
}
