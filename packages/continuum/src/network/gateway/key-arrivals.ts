import { type Clock, sleep } from "@fjord/base";
import type { WireguardState } from "../fabric/wireguard-change.ts";
import type { WireguardDevice } from "./wireguard-devices.ts";

/** How often it is looked whether a peer that takes another key still sends by the one before, and how long it must not have. */
const QUIET = { lookMs: 5, busyMs: 10, idleMs: 50, longestMs: 400 } as const;
/** Bytes in a second from which on packets come closer to each other than looks. */
const BUSY = 500_000;

/** What comes on a lane by the keys of its peers: until a peer that takes another one sends nothing more by the one before. */
export class KeyArrivals {
  readonly #clock: Clock;
  /** By site: bytes that had come when it last asked whether it may take another key. */
  readonly #counted = new Map<string, { readonly at: number; readonly bytes: number; readonly isBusy: boolean }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** So much has come from a site by now, by the key that it has. */
  count(siteId: string, bytes: number): void {
    const before = this.#counted.get(siteId);
    const at = performance.now();
    const isBusy = before !== undefined && (bytes - before.bytes) / (at - before.at) >= BUSY / 1000;
    this.#counted.set(siteId, { at, bytes, isBusy });
  }

  /** Of others nothing is remembered. */
  keepOnly(sites: { has(siteId: string): boolean }): void {
    for (const siteId of this.#counted.keys()) if (!sites.has(siteId)) this.#counted.delete(siteId);
  }

  /** Until nothing comes from a site by a key any more. Resolves with what WireGuard says then. */
  async quiet(device: WireguardDevice, siteId: string, key: string): Promise<WireguardState> {
    const quietMs = this.#counted.get(siteId)?.isBusy ? QUIET.busyMs : QUIET.idleMs;
    const began = performance.now();
    let [state, since] = [await device.get(), performance.now()];
    for (;;) {
      await sleep(this.#clock, QUIET.lookMs);
      const next = await device.get();
      const now = performance.now();
      if (next.peers.get(key)?.receivedBytes !== state.peers.get(key)?.receivedBytes) since = now;
      state = next;
      if (now - since >= quietMs || now - began >= QUIET.longestMs) return state;
    }
  }
}
