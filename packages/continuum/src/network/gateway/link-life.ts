/** What a gateway notices of a peer over the link; by its clock. */
export interface PeerSigns {
  /** When it was first asked. */
  readonly askedSince: number;
  /** When it was last known to hear of this one, and this one of it; absent where it never was. */
  readonly heardAt?: number;
  /** Questions since then, and when the first of them was asked. */
  readonly unanswered: number;
  readonly unansweredSince?: number;
  /** When it last asked by itself. */
  readonly questionedAt?: number;
  /** When it last said that it tries another way. */
  readonly invitedAt?: number;
}

/** Signs of one peer on several lanes: it lives where it does on any of them. */
export function togetherOf(all: readonly PeerSigns[]): PeerSigns {
  const latest = (field: "heardAt" | "unansweredSince" | "questionedAt" | "invitedAt") => {
    const times = all.flatMap((each) => each[field] ?? []);
    return times.length === 0 ? {} : { [field]: Math.max(...times) };
  };
  return {
    askedSince: Math.max(...all.map(({ askedSince }) => askedSince)),
    unanswered: Math.min(...all.map(({ unanswered }) => unanswered)),
    ...latest("unansweredSince"),
    ...latest("heardAt"),
    ...latest("questionedAt"),
    ...latest("invitedAt"),
  };
}

export interface LifeSight extends PeerSigns {
  readonly now: number;
  /** Whether another way is tried: what is sent meanwhile may be lost. */
  readonly isTrying?: boolean;
  /** WireGuard's count. */
  readonly receivedBytes: number;
}

/** As long as nobody can tell a lost packet, or another lane or way, from the end; what follows has the rest of three seconds. */
export const SILENT_MS = 2_200;
/** One that this process has never heard of: WireGuard begins anew every five seconds. */
const FIRST_MS = 6_000;
/** A process that was held up finds its questions unanswered before it has read the answers. */
const FEWEST = 4;
/** For so long at least has nobody answered: a shorter break is not noticed. */
const ASKED_MS = 1_100;
/** One that misses answers asks far more often than this: when it last asked longer ago, its program may have ended since. */
const ASKING_MS = 1_000;
/** For so long it has to answer again, and longer each time that it falls silent soon after. */
const PROVEN_MS = 1_000;
const LONGEST_PROOF_MS = 30_000;
const STEADY_MS = 60_000;
/** While another way is tried, for two seconds, nothing is to be expected, nor in the moment after. */
const TRIAL_MS = 2_000;
const AFTER_TRIAL_MS = 1_000;

/** Whether a peer answers over its link, or has fallen silent. One that has never answered is neither: it may be unable to. */
export class LinkLife {
  readonly #isKnown: boolean;
  #isSilent: boolean | undefined;
  #proof = PROVEN_MS;
  /** The first sign after a silence. */
  #provenFrom: number | undefined;
  #backAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #lookedAt = 0;
  #received: number | undefined;
  #receivedAt = Number.NEGATIVE_INFINITY;

  /** By what was said of it before this process began: whether it ever answered, and whether it was silent. */
  constructor(before: { readonly hasAnswered?: boolean; readonly isSilent?: boolean } = {}) {
    this.#isKnown = before.hasAnswered === true || before.isSilent === true;
    if (before.isSilent) this.#isSilent = true;
  }

  /** Undefined where nothing is known. */
  isSilent(sight: LifeSight): boolean | undefined {
    const { now, heardAt, receivedBytes } = sight;
    if (sight.isTrying) this.#triedAt = now;
    // What has come since the last look may have come right after that.
    if (this.#received !== undefined && receivedBytes > this.#received) this.#receivedAt = this.#lookedAt;
    this.#received = receivedBytes;
    this.#lookedAt = now;
    if (this.#isGone(sight)) this.#fall(now);
    else if (heardAt !== undefined && now - heardAt < SILENT_MS) this.#rise(heardAt, now);
    return this.#isSilent;
  }

  #isGone({ now, heardAt, unanswered, questionedAt, invitedAt, ...since }: LifeSight): boolean {
    const triedAt = Math.max(this.#triedAt, (invitedAt ?? Number.NEGATIVE_INFINITY) + TRIAL_MS);
    if (now - triedAt < AFTER_TRIAL_MS) return false;
    if (unanswered < FEWEST || (heardAt === undefined && !this.#isKnown)) return false;
    if (now - (since.unansweredSince ?? now) < ASKED_MS) return false;
    if (now - (heardAt ?? since.askedSince) < (heardAt === undefined ? FIRST_MS : SILENT_MS)) return false;
    // Its gateway's program may have ended while its packets go on. But one that asks would answer, too.
    const isProgramAlive = questionedAt !== undefined && now - questionedAt < ASKING_MS;
    return isProgramAlive || now - this.#receivedAt >= SILENT_MS;
  }

  #fall(now: number): void {
    this.#provenFrom = undefined;
    if (this.#isSilent) return;
    const isSoon = now - this.#backAt < STEADY_MS;
    this.#proof = isSoon ? Math.min(this.#proof * 2, LONGEST_PROOF_MS) : PROVEN_MS;
    this.#isSilent = true;
  }

  #rise(heardAt: number, now: number): void {
    if (this.#isSilent === undefined) this.#isSilent = false;
    if (!this.#isSilent) return;
    this.#provenFrom = Math.min(this.#provenFrom ?? heardAt, heardAt);
    if (heardAt - this.#provenFrom < this.#proof) return;
    this.#isSilent = false;
    this.#provenFrom = undefined;
    this.#backAt = now;
  }
}
