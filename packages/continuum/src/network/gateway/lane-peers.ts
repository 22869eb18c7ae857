import { type Clock, steadyNow } from "@fjord/base";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { Fabric } from "../fabric/fabric.ts";
import type { WireguardPeer, WireguardPeerState, WireguardState } from "../fabric/wireguard-change.ts";
import { linkAddress } from "../link-address.ts";
import { KeyArrivals } from "./key-arrivals.ts";
import type { Answering } from "./path-choice.ts";
import { PeerKeys, type ToldKeys } from "./peer-keys.ts";
import type { PathLook, PeerPaths } from "./peer-paths.ts";

export interface LanePeersOptions {
  readonly lane: number;
  readonly clock: Clock;
  readonly newPaths: () => PeerPaths;
}

/** What a look at all peers of a lane has shown. */
export interface LaneLook {
  /** By public key: what WireGuard is to have from now on. */
  readonly changed: ReadonlyMap<string, WireguardPeer>;
  /** Public keys that it is to have no longer. */
  readonly gone: readonly string[];
  readonly sights: readonly {
    readonly checked: CheckedPeer;
    readonly seen: WireguardPeerState;
    readonly look: PathLook;
  }[];
}

/** A peer that has been silent for so long may be elsewhere; a living link has a handshake every two minutes. */
const SILENT_MS = 150_000;
/** How often a peer is greeted that has not answered yet, where nothing is to be kept alive. */
const GREETING_SECONDS = 5;

/** The peers of one lane, as WireGuard is to have them there: by which of their keys, and where they are looked for. */
export class LanePeers {
  readonly arrivals: KeyArrivals;
  readonly #lane: number;
  readonly #clock: Clock;
  readonly #newPaths: () => PeerPaths;
  #paths: PeerPaths | undefined;
  /** By site: which of its keys has its ranges. */
  readonly #keys = new Map<string, PeerKeys>();
  /** Peers as they are met, by what they were made of: the same object as long as that and the key stay. */
  readonly #met = new WeakMap<CheckedPeer, CheckedPeer>();
  /** Public keys of those who are to hear of this node before they send it anything: it may have come in the place of another. */
  readonly #greeted = new Set<string>();

  constructor({ lane, clock, newPaths }: LanePeersOptions) {
    this.#lane = lane;
    this.#clock = clock;
    this.#newPaths = newPaths;
    this.arrivals = new KeyArrivals(clock);
  }

  /** Where they are looked for. */
  get paths(): PeerPaths {
    this.#paths ??= this.#newPaths();
    return this.#paths;
  }

  keysOf(siteId: string): PeerKeys | undefined {
    return this.#keys.get(siteId);
  }

  /** Takes over who the peers are now. `state` is what WireGuard says of them, where that is known. */
  bring(fabric: Fabric, state?: WireguardState): void {
    for (const siteId of this.#keys.keys()) if (!fabric.peers.has(siteId)) this.#keys.delete(siteId);
    this.arrivals.keepOnly(fabric.peers);
    for (const [siteId, told] of toldKeys(fabric)) {
      const known = this.#keys.get(siteId);
      known?.bring(told, steadyNow(this.#clock));
      if (known === undefined)
        this.#keys.set(siteId, new PeerKeys(told, (key) => state?.peers.get(key)?.handshakeSeconds));
    }
    const keys = new Set(this.#keys.values().flatMap((each) => each.all));
    for (const key of this.#greeted) if (!keys.has(key)) this.#greeted.delete(key);
    this.bringPaths(fabric);
  }

  /** Another key of a peer may have its ranges now. */
  bringPaths(fabric: Fabric): void {
    const peers = new Map<string, CheckedPeer>();
    for (const [siteId, { checked }] of fabric.peers)
      if (checked.lanes.length > this.#lane) peers.set(siteId, this.met(checked));
    this.paths.bring(peers);
  }

  forgetPaths(): void {
    this.#paths = undefined;
  }

  /** Whoever has the key is to hear of this node. */
  greet(publicKey: string): void {
    this.#greeted.add(publicKey);
  }

  /** Whoever has the key has heard of this node. Whether it was greeted until now. */
  heard(publicKey: string): boolean {
    return this.#greeted.delete(publicKey);
  }

  /** A peer as it is met on the lane, by the key that it has there: those beyond the first are for where the two meet directly. */
  met(checked: CheckedPeer): CheckedPeer {
    const publicKey = this.#keys.get(checked.siteId)?.active ?? checked.publicKey;
    const known = this.#met.get(checked);
    if (known?.publicKey === publicKey) return known;
    const met = this.#metBy(checked, publicKey);
    this.#met.set(checked, met);
    return met;
  }

  #metBy(checked: CheckedPeer, publicKey: string): CheckedPeer {
    if (this.#lane === 0) return { ...checked, publicKey };
    const { fallback: _, tcp: __, ...met } = checked;
    return { ...met, publicKey, endpoints: checked.lanes[this.#lane] ?? [] };
  }

  /** What WireGuard is to have of those that have such a lane, by public key. */
  wanted(peers: Fabric["peers"], fabric: Fabric): Map<string, WireguardPeer> {
    const all = [...peers.values()].filter(({ checked }) => checked.lanes.length > this.#lane);
    return new Map(all.flatMap(({ checked }) => [...this.keyed(checked, fabric)]));
  }

  /** The same for all, each where WireGuard hears of it: it may have moved. */
  wantedWhereHeard(fabric: Fabric, state: WireguardState): Map<string, WireguardPeer> {
    const wanted = this.wanted(fabric.peers, fabric);
    for (const [key, peer] of wanted) {
      const seen = state.peers.get(key);
      if (this.#isAlive(seen) && seen?.endpoint !== undefined) wanted.set(key, { ...peer, endpoint: seen.endpoint });
    }
    return wanted;
  }

  /** Seeks peers that are silent elsewhere, by what WireGuard says of all. `answers` says how often a site is asked, where it answers. */
  look(fabric: Fabric, state: WireguardState, answers: (siteId: string) => Answering): LaneLook {
    const changed = new Map<string, WireguardPeer>();
    const gone: string[] = [];
    const sights: { checked: CheckedPeer; seen: WireguardPeerState; look: PathLook }[] = [];
    const isHandshaken = (siteId: string) => {
      const checked = fabric.peers.get(siteId)?.checked;
      return this.#isAlive(checked && state.peers.get(this.met(checked).publicKey));
    };
    for (const { checked } of fabric.peers.values()) {
      const keys = this.#keys.get(checked.siteId);
      const had = keys?.active ?? checked.publicKey;
      if (keys?.look(steadyNow(this.#clock), (key) => state.peers.get(key)?.handshakeSeconds)) {
        this.bringPaths(fabric);
        const wanted = this.keyed(checked, fabric, state, [had]);
        for (const [key, peer] of wanted) changed.set(key, peer);
        if (!wanted.has(had)) gone.push(had);
      }
      const met = this.met(checked);
      const seen = state.peers.get(met.publicKey) ?? state.peers.get(had);
      if (seen === undefined) continue;
      const isOfKey = seen.publicKey === met.publicKey;
      if (isOfKey && seen.handshakeSeconds > 0 && this.heard(met.publicKey)) {
        const { endpoint } = seen;
        changed.set(met.publicKey, { ...this.active(checked, fabric), ...(endpoint && { endpoint }) });
      }
      const look = this.paths.look(met, seen, isHandshaken, answers(checked.siteId));
      if (look.isMoved) changed.set(met.publicKey, this.active(checked, fabric));
      sights.push({ checked, seen, look });
    }
    return { changed, gone, sights };
  }

  #isAlive(seen: WireguardPeerState | undefined): boolean {
    return this.#clock.now() - (seen?.handshakeSeconds ?? 0) * 1000 < SILENT_MS;
  }

  /** A peer by each of its keys: one has its ranges, and the others wait. Where none of them is yet, it is where one of `before` was heard of. */
  keyed(
    checked: CheckedPeer,
    fabric: Fabric,
    state?: WireguardState,
    before: readonly string[] = [],
  ): Map<string, WireguardPeer> {
    const active = this.active(checked, fabric);
    const standby = this.#keys.get(checked.siteId)?.standby(steadyNow(this.#clock)) ?? [];
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

  /** A peer by the key that has its ranges. */
  active(checked: CheckedPeer, fabric: Fabric): WireguardPeer {
    const { publicKey, keepaliveSeconds } = this.met(checked);
    const of = fabric.peers.get(checked.siteId);
    const endpoint = this.paths.endpointOf(publicKey);
    const atLink = this.#lane === 0 ? (of?.gateways ?? []) : [linkAddress(checked.siteId, this.#lane)];
    return {
      publicKey,
      // What keeps a link alive is what opens it without anything to say.
      keepaliveSeconds: keepaliveSeconds || (this.#greeted.has(publicKey) ? GREETING_SECONDS : 0),
      ranges: [...(of?.ranges ?? []), ...atLink],
      ...(endpoint !== undefined && { endpoint }),
    };
  }
}

/** All keys that a peer names. */
export function keysOf(peer: { readonly checked: CheckedPeer } | undefined): string[] {
  if (peer === undefined) return [];
  const { publicKey, nextKey } = peer.checked;
  return nextKey === undefined ? [publicKey] : [...new Set([publicKey, nextKey])];
}

/** By site. A next key that another one has too is nobody's. */
function toldKeys({ peers }: Fabric): Map<string, ToldKeys> {
  const all = [...peers.values()].map(({ checked }) => checked);
  const owners = new Map<string, number>();
  if (all.some(({ nextKey }) => nextKey !== undefined))
    for (const checked of all) for (const key of keysOf({ checked })) owners.set(key, (owners.get(key) ?? 0) + 1);
  return new Map(
    all.map(({ siteId, publicKey: current, nextKey: next }) => [
      siteId,
      next !== undefined && owners.get(next) === 1 ? { current, next } : { current },
    ]),
  );
}
