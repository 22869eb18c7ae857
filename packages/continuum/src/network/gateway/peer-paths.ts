import { isIP } from "node:net";
import { type Clock, describeError, type Logger, steadyNow } from "@fjord/base";
import { HostNames } from "../../host-names.ts";
import type { CheckedPeer } from "../fabric/checked-peer.ts";
import type { WireguardPeerState } from "../fabric/wireguard-change.ts";
import { contains, formatRange, parseRange } from "../ip-range.ts";
import { RELAY_RANGE } from "../link-address.ts";
import { isPlace } from "../place.ts";
import { type Answering, PathChoice, type Way } from "./path-choice.ts";

export interface PeerPathsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The address of a host. @default the system's */
  readonly lookup?: (host: string) => Promise<string>;
}

/** Where a peer is looked for. */
interface Dialled {
  /** Of `name` among its places. */
  readonly index: number;
  readonly at: number;
  readonly name: string;
  /** What that leads to, once it is known. */
  address?: string;
  /** Until WireGuard is to be told. `ifLost`: only where it knows of no other place. */
  isPending: boolean | "ifLost";
}

/** What is known of a peer since it was first looked at. */
interface Watched {
  readonly choice: PathChoice;
  received: number;
  /** Bytes sent when something came last. */
  sent: number;
  /** Where it was said to be, until it is looked at again: what has come by then may have come before. */
  told?: string | undefined;
  /** Where it was while nothing else was tried. */
  endpoint?: string;
}

/** A look at a peer's path. */
export interface PathLook {
  /** Whether WireGuard is to be told `endpointOf` now. */
  readonly isMoved: boolean;
  /** Whether the peer is to be asked to try the direct way too. */
  readonly isInvited: boolean;
  readonly isTrying: boolean;
  /** By which it is met, or sought where it is silent. */
  readonly way: Way;
  /** Where it was before it is tried elsewhere. */
  readonly endpoint?: string;
}

/** How others than the peer itself are: ids of sites that WireGuard has agreed on a key with lately. */
export type Handshaken = (siteId: string) => boolean;

/** How long each place of a peer is tried in a trial of the direct way: a NAT that was opened stays open for the others' turns. */
const TURN_MS = 400;
/** A living link has a handshake every two minutes. */
const LOST_MS = 150_000;

/** Where WireGuard is to look for each peer: at which of its places, through a hub, or at the own agent, which carries packets to it. */
export class PeerPaths {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lookup: (host: string) => Promise<string>;
  /** By public key, as the others. */
  readonly #watched = new Map<string, Watched>();
  readonly #dialled = new Map<string, Dialled>();
  /** Where each may be found, and through whom. */
  readonly #places = new Map<string, string>();
  /** Peers a name of which is asked for: one at a time, as nobody knows how long that takes. */
  readonly #asking = new Set<string>();
  /** Who the peers are, by site. */
  readonly #peers = new Map<string, CheckedPeer>();

  constructor({ clock, logger, lookup = addressOf }: PeerPathsOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#lookup = lookup;
  }

  /** The address and port that WireGuard is to send to; undefined where it is not known, and the peer has to come itself. */
  endpointOf(publicKey: string): string | undefined {
    return this.#dialled.get(publicKey)?.address;
  }

  /** Takes over who the peers are now, by site. Those that are the same objects as before are not looked at. */
  bring(peers: ReadonlyMap<string, CheckedPeer>): void {
    const changed = [...peers].filter(([siteId, checked]) => this.#peers.get(siteId) !== checked);
    const gone = [...this.#peers.keys()].filter((siteId) => !peers.has(siteId));
    if (changed.length + gone.length === 0) return;
    for (const [siteId, checked] of changed) this.#rekey(this.#peers.get(siteId)?.publicKey, checked.publicKey);
    for (const siteId of gone) this.#peers.delete(siteId);
    for (const [siteId, checked] of changed) this.#peers.set(siteId, checked);
    const keys = new Set(peers.values().map(({ publicKey }) => publicKey));
    for (const known of [this.#dialled, this.#watched, this.#places])
      for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    for (const [, checked] of changed) this.#bring(checked);
  }

  /** What is to be done for a peer, by what WireGuard says of it. */
  look(checked: CheckedPeer, seen: WireguardPeerState, isHandshaken: Handshaken, answers: Answering): PathLook {
    const watched = this.#watchedOf(checked, seen);
    const { choice } = watched;
    // An interface that was made anew counts from nothing.
    if (seen.sentBytes < watched.sent) watched.sent = 0;
    const heard = heardOf(checked, seen, watched);
    const before = choice.way;
    const canDial = placesOf(checked).length > 0;
    const step = choice.look({
      now: steadyNow(this.#clock),
      heard,
      ways: this.#ways(checked, isHandshaken),
      canDial,
      // Who keeps a way open cannot be dialled.
      canMeet: canDial || checked.keepaliveSeconds === 0,
      answers,
      isAsked: seen.sentBytes > watched.sent,
    });
    const { isTrying, way } = choice;
    if (way !== before) this.#logger.info("a peer is met by another way", { siteId: checked.siteId, way });
    if (step !== undefined && step !== "invite") this.#take(step, checked, seen, isTrying);
    else if (heard !== undefined) this.#settle(checked.publicKey);
    const isMoved = this.#isPending(checked, seen);
    if (isMoved) watched.told = this.endpointOf(checked.publicKey);
    if (!isTrying && seen.endpoint !== undefined) watched.endpoint = seen.endpoint;
    const { endpoint } = watched;
    return { isMoved, isInvited: step === "invite", isTrying, way, ...(endpoint !== undefined && { endpoint }) };
  }

  /** The peer says that it tries the direct way now. */
  invited(checked: CheckedPeer): boolean {
    if (placesOf(checked).length === 0) return false;
    return this.#watched.get(checked.publicKey)?.choice.invited(steadyNow(this.#clock)) ?? false;
  }

  /** A peer that has another key is where it was, and met as it was. */
  #rekey(before: string | undefined, key: string): void {
    if (before === undefined || before === key) return;
    for (const known of [this.#dialled, this.#places] as Map<string, unknown>[])
      if (known.has(before)) known.set(key, known.get(before));
    const watched = this.#watched.get(before);
    // Its bytes are counted anew.
    if (watched !== undefined) this.#watched.set(key, { ...watched, received: 0, sent: 0, told: undefined });
  }

  #bring(checked: CheckedPeer): void {
    const { publicKey, fallback, tcp } = checked;
    const dialled = this.#dialled.get(publicKey);
    const choice = this.#watched.get(publicKey)?.choice;
    const places = placesOf(checked);
    const other = choice?.way === "hub" ? fallback?.endpoint : choice?.way === "tcp" ? tcp : undefined;
    if (other !== undefined) {
      if (dialled?.name !== other) this.#dialAt(publicKey, other);
    } else if (places.length === 0) this.#dialled.delete(publicKey);
    else if (dialled === undefined || places[dialled.index] !== dialled.name) this.#dial(checked, 0, "ifLost");
    const known = this.#places.get(publicKey);
    const now = [...places, fallback?.via].join();
    this.#places.set(publicKey, now);
    if (known !== undefined && known !== now) choice?.news(steadyNow(this.#clock));
  }

  #watchedOf({ publicKey }: CheckedPeer, { receivedBytes, sentBytes }: WireguardPeerState): Watched {
    const known = this.#watched.get(publicKey);
    if (known !== undefined) return known;
    const choice = new PathChoice(steadyNow(this.#clock));
    const watched: Watched = { choice, received: receivedBytes, sent: sentBytes };
    this.#watched.set(publicKey, watched);
    return watched;
  }

  /** Packets stay packets through a hub; in a connection each waits for the one before. Unless the hub itself is met by such a connection. */
  #ways({ fallback, tcp, via }: CheckedPeer, isHandshaken: Handshaken): Way[] {
    if (via !== undefined) return ["direct"];
    const wayToHub = this.#watched.get(this.#peers.get(fallback?.via ?? "")?.publicKey ?? "")?.choice.way;
    const isHubAlive = fallback !== undefined && wayToHub !== "hub" && isHandshaken(fallback.via);
    const ways: Way[] = ["direct"];
    if (isHubAlive && wayToHub !== "tcp") ways.push("hub");
    if (tcp !== undefined) ways.push("tcp");
    if (isHubAlive && wayToHub === "tcp") ways.push("hub");
    return ways;
  }

  #take(way: Way, checked: CheckedPeer, seen: WireguardPeerState, isTrying: boolean): void {
    const { publicKey, fallback, tcp } = checked;
    const other = way === "hub" ? fallback?.endpoint : way === "tcp" ? tcp : undefined;
    const dialled = this.#dialled.get(publicKey);
    if (other !== undefined) {
      if (dialled?.name !== other) this.#dialAt(publicKey, other);
    } else {
      const places = placesOf(checked);
      const isThere = dialled !== undefined && places[dialled.index] === dialled.name;
      const isItsTurn = isTrying && isThere && steadyNow(this.#clock) - dialled.at < TURN_MS;
      // The first of a trial is where it is seen: the peer tries that of this one.
      if (!isItsTurn) this.#dial(checked, isThere ? (dialled.index + 1) % places.length : places.length - 1, true);
    }
    // What was still on its way by the other one leads WireGuard back there.
    const now = this.#dialled.get(publicKey);
    if (now?.address !== undefined && now.address !== seen.endpoint) now.isPending = true;
  }

  /** It is where it is heard of. */
  #settle(publicKey: string): void {
    const dialled = this.#dialled.get(publicKey);
    if (dialled !== undefined) dialled.isPending = false;
  }

  #isPending({ publicKey }: CheckedPeer, { endpoint, handshakeSeconds }: WireguardPeerState): boolean {
    const dialled = this.#dialled.get(publicKey);
    if (dialled?.address === undefined || dialled.isPending === false) return false;
    const isLost = endpoint === undefined || this.#clock.now() - handshakeSeconds * 1000 >= LOST_MS;
    if (dialled.isPending === "ifLost" && !isLost) return false;
    dialled.isPending = false;
    return dialled.address !== endpoint;
  }

  #dialAt(publicKey: string, endpoint: string): void {
    const index = this.#dialled.get(publicKey)?.index ?? -1;
    const address = canonical(endpoint);
    this.#dialled.set(publicKey, { index, at: steadyNow(this.#clock), name: endpoint, address, isPending: true });
  }

  #dial(checked: CheckedPeer, index: number, isPending: Dialled["isPending"]): void {
    const name = placesOf(checked)[index] ?? "";
    const dialled: Dialled = { index, at: steadyNow(this.#clock), name, isPending };
    this.#dialled.set(checked.publicKey, dialled);
    const { host } = placeOf(name);
    if (isIP(host) !== 0) this.#found(checked, dialled, host);
    else void this.#ask(checked, dialled);
  }

  /** Nobody waits for a name, which may lead nowhere: its address is used once it is known. One name of a peer is asked for at a time, and then the one that is wanted by then. */
  async #ask(checked: CheckedPeer, dialled: Dialled): Promise<void> {
    const { siteId, publicKey } = checked;
    if (this.#asking.has(siteId)) return;
    this.#asking.add(siteId);
    try {
      this.#found(checked, dialled, await this.#lookup(placeOf(dialled.name).host));
    } catch (error) {
      this.#warn(checked, dialled, describeError(error));
    } finally {
      this.#asking.delete(siteId);
    }
    const wanted = this.#dialled.get(publicKey);
    if (wanted === undefined || wanted.name === dialled.name || wanted.address !== undefined) return;
    void this.#ask(this.#peers.get(siteId) ?? checked, wanted);
  }

  #found(checked: CheckedPeer, dialled: Dialled, address: string): void {
    const { port } = placeOf(dialled.name);
    const place = canonical(isIP(address) === 6 ? `[${address}]${port}` : `${address}${port}`);
    // Its word, or that of whoever answers for the name: none of them is to have this node send to itself, or everyone.
    if (checked.via === undefined && !isPlace(place)) this.#warn(checked, dialled, `nobody else is at ${place}`);
    else dialled.address = place;
    // It was dialled once more meanwhile.
    const wanted = this.#dialled.get(checked.publicKey);
    const isAgain = wanted !== undefined && wanted !== dialled && wanted.name === dialled.name;
    if (isAgain && dialled.address !== undefined) wanted.address ??= dialled.address;
  }

  #warn({ siteId }: CheckedPeer, { name: endpoint }: Dialled, reason: string): void {
    this.#logger.warn("an endpoint of a peer has no address", { siteId, endpoint, reason });
  }
}

/** Of `host:port`, with the colon. */
function placeOf(name: string): { readonly host: string; readonly port: string } {
  const at = name.lastIndexOf(":");
  return { host: name.slice(0, at).replace(/^\[|\]$/g, ""), port: name.slice(at) };
}

/** Of all lanes. */
const names = new HostNames();

async function addressOf(host: string): Promise<string> {
  const [found] = await names.addresses(host);
  return found?.address ?? "";
}

/** The way by which a peer was last heard of, or is sought. */
export function wayOf({ via, tcp }: CheckedPeer, { endpoint }: Pick<WireguardPeerState, "endpoint">): Way {
  if (endpoint === undefined || via !== undefined) return "direct";
  if (tcp !== undefined && canonical(tcp) === endpoint) return "tcp";
  return isRelayed(endpoint) ? "hub" : "direct";
}

/** The way by which something has come since the last look. WireGuard sends to where it last heard of somebody, unless it was told otherwise since. */
function heardOf(checked: CheckedPeer, seen: WireguardPeerState, watched: Watched): Way | undefined {
  const { told, received } = watched;
  watched.told = undefined;
  watched.received = seen.receivedBytes;
  const isHeard = told === undefined ? seen.receivedBytes > received : seen.endpoint !== told;
  if (!isHeard) return undefined;
  watched.sent = seen.sentBytes;
  return wayOf(checked, seen);
}

/** Where it listens by its own word, and where a hub hears of it. */
function placesOf({ endpoints, fallback }: CheckedPeer): readonly string[] {
  const seenAt = fallback?.seenAt;
  return seenAt === undefined || endpoints.includes(seenAt) ? endpoints : [...endpoints, seenAt];
}

/** Whether an endpoint is one that hubs lead to. */
function isRelayed(endpoint: string): boolean {
  const address = parseRange(endpoint.slice(0, endpoint.lastIndexOf(":")));
  return address !== undefined && contains(RELAY_RANGE, address);
}

/** As WireGuard writes it. */
function canonical(endpoint: string): string {
  const at = endpoint.lastIndexOf(":");
  const address = parseRange(endpoint.slice(0, at).replace(/^\[|\]$/g, ""));
  if (address === undefined) return endpoint;
  const text = formatRange(address);
  return `${text.includes(":") ? `[${text}]` : text}${endpoint.slice(at)}`;
}
