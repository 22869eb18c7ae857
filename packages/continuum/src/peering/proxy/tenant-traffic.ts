import { type Clock, TokenBucket } from "@fjord/base";
import type { SiteId } from "../../site-identity.ts";
import { KubeRefusal } from "./kube-refusal.ts";

/** How much one tenant may ask of the API server. */
export interface TenantLimits {
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** Requests at once, streams not counted. */
  readonly requests: number;
  /** Watches, logs and upgraded connections at once. */
  readonly streams: number;
  /** Bytes of one body. */
  readonly bodyBytes: number;
  /** Bytes of bodies held at once. */
  readonly heldBytes: number;
  /** Bytes of objects written each second, and how many at once after a quiet time: a store keeps old versions for minutes. */
  readonly writtenPerSecond: number;
  readonly writtenBurst: number;
  /** Bytes of bodies of which nothing is kept each second, and how many at once after a quiet time: to read one takes the agent's time, as all that it does. */
  readonly vainPerSecond: number;
  readonly vainBurst: number;
}

export const defaultTenantLimits: TenantLimits = {
  requestsPerSecond: 500,
  burst: 1_000,
  requests: 128,
  streams: 512,
  bodyBytes: 3 * 1024 * 1024,
  heldBytes: 24 * 1024 * 1024,
  writtenPerSecond: 2 * 1024 * 1024,
  writtenBurst: 64 * 1024 * 1024,
  vainPerSecond: 1024 * 1024,
  // As much as is held at once: until it is known what becomes of a body, all of it counts.
  vainBurst: 24 * 1024 * 1024,
};

/** Takes no longer to read than all else that a request takes; a pod is no larger, and is not to wait for what has been refused before. */
const SMALL_BODY = 16 * 1024;

/** What one tenant has under way, and how to end all of it. */
export class TenantTraffic {
  readonly #limits: TenantLimits;
  readonly #bucket: TokenBucket;
  readonly #written: TokenBucket;
  readonly #vain: TokenBucket;
  readonly #clock: Clock;
  readonly #cuts = new Set<() => void>();
  #requests = 0;
  #streams = 0;
  #held = 0;
  #toldAt = 0;

  constructor(limits: TenantLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#bucket = new TokenBucket({ burst: limits.burst, perSecond: limits.requestsPerSecond, clock });
    this.#written = new TokenBucket({ burst: limits.writtenBurst, perSecond: limits.writtenPerSecond, clock });
    this.#vain = new TokenBucket({ burst: limits.vainBurst, perSecond: limits.vainPerSecond, clock });
  }

  get idle(): boolean {
    return this.#cuts.size === 0;
  }

  /** Counts a request, of whatever sort it is. Throws `KubeRefusal`. */
  count(): void {
    if (this.#bucket.tryTake()) return;
    const now = this.#clock.now();
    const told = now < this.#toldAt + 1_000;
    if (!told) this.#toldAt = now;
    throw new TooOften(told);
  }

  /** Begins a request that `cut` ends; the function returned says that it has ended. Throws `KubeRefusal`. */
  begin(stream: boolean, cut: () => void): () => void {
    if (stream ? this.#streams >= this.#limits.streams : this.#requests >= this.#limits.requests)
      throw new KubeRefusal(429, `this consumer has too many ${stream ? "streams" : "requests"} at once`, 1);
    if (stream) this.#streams++;
    else this.#requests++;
    this.#cuts.add(cut);
    return () => {
      if (!this.#cuts.delete(cut)) return;
      if (stream) this.#streams--;
      else this.#requests--;
    };
  }

  /** Takes room for more of a body. Throws `KubeRefusal`. */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#limits.heldBytes)
      throw new KubeRefusal(429, "this consumer sends too much at once", 1);
    this.#held += bytes;
  }

  /** How large an object becomes is known when it is written: this is the debt of those before. Throws `KubeRefusal`. */
  mayWrite(): void {
    if (!this.#written.tryTake(0)) throw new KubeRefusal(429, "this consumer writes too much", 1);
  }

  /** A body is about to be read; the function returned is told how many bytes are kept of what it writes. Throws `KubeRefusal`. */
  consider(bytes: number): (kept: number) => void {
    const counts = bytes > SMALL_BODY;
    if (counts && !this.#vain.tryTake(0))
      throw new KubeRefusal(429, "this consumer sends too much that is not kept", 1);
    if (counts) this.#vain.reserve(bytes);
    return (kept) => {
      this.#written.reserve(kept);
      if (counts) this.#vain.giveBack(Math.min(kept, bytes));
    };
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }

  cut(): void {
    for (const cut of [...this.#cuts]) cut();
  }
}

/** Refused without a look at what was asked. */
export class TooOften extends KubeRefusal {
  /** The audit has a line of this within the last second: it must not become a way to fill the owner's disk. */
  readonly told: boolean;

  constructor(told: boolean) {
    super(429, "this consumer asks too often", 1);
    this.told = told;
  }
}

/** The traffic of all tenants. */
export class Traffic {
  readonly #limits: TenantLimits;
  readonly #clock: Clock;
  readonly #tenants = new Map<SiteId, TenantTraffic>();

  constructor(limits: TenantLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  of(consumer: SiteId): TenantTraffic {
    let traffic = this.#tenants.get(consumer);
    if (traffic === undefined) {
      traffic = new TenantTraffic(this.#limits, this.#clock);
      this.#tenants.set(consumer, traffic);
    }
    return traffic;
  }

  /** Ends everything of a tenant that is one no more. */
  cut(consumer: SiteId): void {
    const traffic = this.#tenants.get(consumer);
    this.#tenants.delete(consumer);
    traffic?.cut();
  }

  cutAll(): void {
    for (const consumer of [...this.#tenants.keys()]) this.cut(consumer);
  }
}
