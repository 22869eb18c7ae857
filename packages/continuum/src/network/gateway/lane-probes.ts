import type { Clock } from "@fjord/base";
import type { NetworkState } from "../network-state.ts";
import { askedPeers, hasLane, oftenAsked } from "./asked-peers.ts";
import { lanedPeers, lanesOf } from "./carried-lanes.ts";
import { LaneLives } from "./lane-lives.ts";
import { type PeerSigns, togetherOf } from "./link-life.ts";
import type { LinkProbe } from "./link-probe.ts";
import type { LinkReport } from "./link-report.ts";
import type { Linked } from "./own-key.ts";
import type { Answering } from "./path-choice.ts";
import type { ProbedLink } from "./probed-peer.ts";

export type LaneProbe = Pick<
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

/** Peers are asked over each lane that a node carries, and are known by what all of them show. */
export class LaneProbes {
  readonly lives: LaneLives;
  readonly #open: (lane: number) => LaneProbe | undefined;
  readonly #probes = new Map<number, LaneProbe>();
  /** Ids of peers that are asked every second. */
  #often: ReadonlySet<string> = new Set();
  #hasLanes = false;

  /** `open` gives undefined where nobody is asked. */
  constructor(clock: Clock, open: (lane: number) => LaneProbe | undefined) {
    this.#open = open;
    this.lives = new LaneLives(clock, (siteId, lane) => this.#probes.get(lane)?.answeredAt(siteId));
  }

  /** Asks, over the lanes of the state, those whose links are as `reports` say. */
  async tick(reports: readonly LinkReport[], state: NetworkState, isTurning: boolean): Promise<void> {
    const { siteId, mtu } = state;
    const lanes = lanesOf(state);
    for (const lane of [...this.#probes.keys()].filter((each) => !lanes.includes(each))) this.#close(lane);
    this.#hasLanes = lanedPeers(state).size > 0;
    this.#often = oftenAsked(state, isTurning);
    for (const lane of lanes) {
      const probe = this.#of(lane);
      if (siteId === undefined) continue;
      const { peers, often, oftenMs } = askedPeers(lane, reports, state, isTurning);
      await probe?.tick(siteId, peers, mtu, often, oftenMs);
      if (lane === 0) for (const each of reports) if (each.isInvited || each.isTrying) probe?.invite(each.siteId);
    }
  }

  /** How often a peer is asked, where it has answered before: of those alone silence means something. */
  answering(siteId: string, lane: number): Answering {
    if (this.#probes.get(lane)?.seen(siteId).lossPercent === undefined) return undefined;
    return this.#often.has(siteId) ? "often" : "seldom";
  }

  /** By the first of its lanes that are here; packets are to get through by any of them. */
  seen(siteId: string): ProbedLink {
    const all = [...this.#probes].sort(([one], [other]) => one - other).map(([, probe]) => probe.seen(siteId));
    const mtus = all.flatMap(({ mtu }) => mtu ?? []);
    return { ...all[0], ...(mtus.length > 0 && { mtu: Math.min(...mtus) }) };
  }

  /** By any of its lanes. */
  signs(siteId: string): PeerSigns | undefined {
    const all = [...this.#probes.values()].flatMap((probe) => probe.signs(siteId) ?? []);
    return all.length === 0 ? undefined : togetherOf(all);
  }

  /** Those that are asked, by lane. */
  linked(reports: readonly LinkReport[]): Linked {
    const on = (lane: number) => reports.filter((each) => hasLane(each, lane)).map(({ siteId }) => siteId);
    return new Map([...this.#probes.keys()].map((lane) => [lane, on(lane)]));
  }

  /** Whether somebody owes an answer, who gave one before. */
  get isLate(): boolean {
    return this.#probes.values().some((probe) => probe.isLate);
  }

  /** Whether there is more than one lane to anybody. */
  get hasLanes(): boolean {
    return this.#hasLanes;
  }

  hurry(): void {
    for (const probe of this.#probes.values()) probe.hurry();
  }

  close(): void {
    for (const lane of this.#probes.keys()) this.#close(lane);
  }

  #of(lane: number): LaneProbe | undefined {
    const probe = this.#probes.get(lane) ?? this.#open(lane);
    if (probe !== undefined) this.#probes.set(lane, probe);
    return probe;
  }

  #close(lane: number): void {
    this.#probes.get(lane)?.close();
    this.#probes.delete(lane);
    this.lives.forget(lane);
  }
}
