/** What is seen of a peer since the last look. */
export interface PathSight {
  readonly now: number;
  /** Whether anything came from it. */
  readonly isHeard: boolean;
  /** Whether what came last came through the hub. */
  readonly isThroughHub: boolean;
  /** Whether the hub itself answers. */
  readonly isHubAlive: boolean;
  /** Whether there is an endpoint to dial directly: else only the peer can come that way. */
  readonly canDial: boolean;
}

export type Path = "direct" | "hub";

/** Peers are asked every second: one that says nothing for so long is sought by the other way. */
const SILENT_MS = 3_000;
/** WireGuard begins anew every five seconds where there is no session: one beginning at least goes each way. */
const FIRST_MS = 7_000;
/** How long the direct way is tried while the hub's works: what is sent meanwhile may be lost. */
const TRIAL_MS = 2_000;
const WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 600_000;

/**
 * Which of two ways a peer is sent to: directly where that works, and else through a hub. The peer follows by itself, as WireGuard answers where it last heard of
 * somebody. While the hub is used the direct way is tried now and then, for a moment, and less often the more often in vain.
 */
export class PathChoice {
  #path: Path = "direct";
  #since: number;
  #heardAt: number | undefined;
  #trialEnds: number | undefined;
  #trialAt = 0;
  #wait = WAIT_MS;

  constructor(now: number) {
    this.#since = now;
  }

  get path(): Path {
    return this.#path;
  }

  /** The way to dial now; undefined where it stays as it is. */
  look(sight: PathSight): Path | undefined {
    const { now, isHeard, isThroughHub } = sight;
    if (isHeard) this.#heardAt = now;
    if (isHeard && !isThroughHub) return this.#settleDirect(now);
    if (isHeard && this.#path === "direct") return this.#settleHub(now);
    return this.#path === "direct" ? this.#seekHub(sight) : this.#seekDirect(sight);
  }

  /** It was heard of directly, whoever began. */
  #settleDirect(now: number): undefined {
    if (this.#path === "hub") this.#go("direct", now);
    this.#wait = WAIT_MS;
    return undefined;
  }

  /** The peer itself has come by the hub: it does not hear of us otherwise. */
  #settleHub(now: number): undefined {
    this.#go("hub", now);
    return undefined;
  }

  #seekHub({ now, isHubAlive }: PathSight): Path | undefined {
    const patience = this.#heardAt === undefined ? FIRST_MS : SILENT_MS;
    if (now - Math.max(this.#heardAt ?? 0, this.#since) < patience || !isHubAlive) return undefined;
    return this.#go("hub", now);
  }

  #seekDirect({ now, canDial, isHubAlive }: PathSight): Path | undefined {
    if (this.#trialEnds !== undefined) {
      if (now < this.#trialEnds) return undefined;
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
      return this.#go("hub", now);
    }
    const isSilent = now - Math.max(this.#heardAt ?? 0, this.#since) >= FIRST_MS;
    if (isSilent || !isHubAlive) return canDial ? this.#go("direct", now) : undefined;
    if (now < this.#trialAt || !canDial) return undefined;
    this.#trialEnds = now + TRIAL_MS;
    return "direct";
  }

  #go(path: Path, now: number): Path {
    this.#path = path;
    this.#since = now;
    this.#trialEnds = undefined;
    this.#trialAt = now + this.#wait;
    return path;
  }
}
