/** How a peer is met: directly, through a hub, or in the agents' own connection. */
export type Way = "direct" | "hub" | "tcp";

/** Asked every second, or every few of them; undefined where a peer answers no questions. */
export type Answering = "often" | "seldom" | undefined;

/** What is seen of a peer since the last look. */
export interface PathSight {
  readonly now: number;
  /** By which way anything came from it, if anything did: the last one. */
  readonly heard?: Way | undefined;
  /** Ways that may lead there, the best one first. The direct one is always among them. */
  readonly ways: readonly Way[];
  /** Whether there is an endpoint to dial directly: else only the peer can come that way. */
  readonly canDial: boolean;
  /** Whether either of the two can dial the other: else the direct way is not waited for. */
  readonly canMeet: boolean;
  /** How often it is asked, where it is known to answer. */
  readonly answers: Answering;
  /** Whether anything was sent to it that it has not answered in any way. */
  readonly isAsked: boolean;
}

/** The way to dial now, or that the peer is to be asked to try the direct one too, which is tried at the next look. */
export type PathStep = Way | "invite" | undefined;

/**
 * Peers are asked every second, and several times when one answer is missing: one that says nothing for so long is sought by another way. It is found there
 * before its endpoints leave Services.
 */
const SILENT_MS = 1_600;
/** One by which nothing has come yet: with the same for all, WireGuard's beginnings would meet the same one again and again. */
const NEXT_MS = 3_000;
/** WireGuard begins anew every five seconds where there is no session: one beginning at least goes each way. */
const FIRST_MS = 7_000;
/** One that is asked every five seconds as long as it answers, or to which there is no other way. */
const ALONE_MS = 8_000;
/** One that answers no questions: but WireGuard says something within ten seconds when it has heard anything. */
const MUTE_MS = 15_000;
/** As long as WireGuard takes a key for good. */
const SESSION_MS = 180_000;
/** How long a better way is tried while another one works: what is sent meanwhile may be lost. */
const TRIAL_MS = 2_000;
const WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 600_000;
/** Nobody is tried more often than that, whatever news there are of him and whatever he asks for. */
const SHORTEST_WAIT_MS = 10_000;
const NEWS_MS = 1_000;
/** Between trials of two ways, so that the peer is heard in between and does not leave the way that works. */
const PAUSE_MS = 5_000;

/**
 * Which of several ways a peer is sent to: the best that works. The peer follows by itself, as WireGuard answers where it last heard of
 * somebody. While another one is used the better ones are tried now and then, for a moment, and less often the more often in vain. Of two behind NATs
 * both have to try the direct way at once, so that each opens its own NAT: the peer is told before, by the way that works.
 */
export class PathChoice {
  #way: Way = "direct";
  #since: number;
  #heardAt: number | undefined;
  #trial: { readonly way: Way; readonly ends: number } | undefined;
  #invitedAt: number | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #trialAt = 0;
  #wait = WAIT_MS;
  /** How many of the better ways have been tried, one after the other: then it is waited. */
  #turn = 0;

  constructor(now: number) {
    this.#since = now;
  }

  get way(): Way {
    return this.#way;
  }

  /** Whether a better way is being tried, or is about to be: it is to be looked at more often. */
  get isTrying(): boolean {
    return this.#trial !== undefined || this.#invitedAt !== undefined;
  }

  look(sight: PathSight): PathStep {
    const { now, heard } = sight;
    if (heard !== undefined) this.#heardAt = now;
    if (heard !== undefined && this.#isSettledBy(heard, sight)) return undefined;
    if (this.#trial !== undefined) return this.#goOn(this.#trial, sight);
    if (this.#isSilent(sight)) return this.#next(sight);
    return this.#tryBetter(sight);
  }

  /** The peer tries the direct way now. Whether this end does so too. */
  invited(now: number): boolean {
    if (this.#way === "direct" || this.isTrying || now - this.#triedAt < SHORTEST_WAIT_MS) return false;
    this.#begin("direct", now, 1);
    return true;
  }

  /** Something has become known of where the peer is, or who leads there: better ways are worth a trial soon. */
  news(now: number): void {
    this.#wait = WAIT_MS;
    this.#trialAt = Math.min(this.#trialAt, Math.max(now + NEWS_MS, this.#triedAt + WAIT_MS));
  }

  /** Whether it was heard by a way that is kept: the one that is tried or a better one, or where it has come itself, as it does not hear of us otherwise. */
  #isSettledBy(heard: Way, { now, ways }: PathSight): boolean {
    const isBetter = ways.indexOf(heard) < ways.indexOf(this.#way);
    if (this.#trial !== undefined && heard !== this.#trial.way && !isBetter) return false;
    if (heard === "direct") {
      this.#wait = WAIT_MS;
      // It can be: when it is lost, it may be tried again at once.
      this.#triedAt = Number.NEGATIVE_INFINITY;
    }
    if (heard === this.#way && this.#trial === undefined) return heard === "direct";
    this.#go(heard, now);
    return true;
  }

  #goOn({ way, ends }: { readonly way: Way; readonly ends: number }, sight: PathSight): Way {
    const { now } = sight;
    if (now < ends) return way;
    const isOver = this.#turn >= this.#better(sight).length;
    if (isOver) this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
    const turn = this.#turn;
    this.#go(this.#way, now);
    if (!isOver) {
      this.#turn = turn;
      this.#trialAt = now + PAUSE_MS;
    }
    return this.#way;
  }

  #isSilent({ now, ways, canMeet, answers, isAsked }: PathSight): boolean {
    if (this.#way === "direct" && !canMeet && ways.length > 1) return true;
    const isNew = this.#heardAt === undefined || now - this.#heardAt >= SESSION_MS;
    if (!isNew && answers === undefined && !isAsked) return false;
    const often = (this.#heardAt ?? 0) < this.#since ? NEXT_MS : SILENT_MS;
    const asked = answers === undefined ? MUTE_MS : answers === "often" ? often : ALONE_MS;
    const patience = isNew ? FIRST_MS : asked;
    const longest = ways.length > 1 ? patience : Math.max(patience, ALONE_MS);
    return now - Math.max(this.#heardAt ?? 0, this.#since) >= longest;
  }

  /** Whatever comes after the one that is silent, and the first one again in the end. */
  #next({ now, ways, canDial }: PathSight): PathStep {
    const usable = ways.filter((way) => way !== "direct" || canDial || way === this.#way);
    const next = usable[(usable.indexOf(this.#way) + 1) % usable.length] ?? "direct";
    return next === "direct" && !canDial ? undefined : this.#go(next, now);
  }

  #better({ ways, canDial }: PathSight): Way[] {
    return ways.slice(0, Math.max(ways.indexOf(this.#way), 0)).filter((way) => way !== "direct" || canDial);
  }

  #tryBetter(sight: PathSight): PathStep {
    const { now } = sight;
    const better = this.#better(sight);
    const turn = this.#turn < better.length ? this.#turn : 0;
    const way = better[turn];
    if (way === undefined) return undefined;
    if (this.#invitedAt !== undefined && this.#invitedAt < now) return this.#begin(way, now, turn + 1);
    if (now < this.#trialAt || this.#invitedAt !== undefined) return undefined;
    if (way !== "direct") return this.#begin(way, now, turn + 1);
    this.#invitedAt = now;
    return "invite";
  }

  #begin(way: Way, now: number, turn: number): Way {
    this.#invitedAt = undefined;
    this.#triedAt = now;
    this.#turn = turn;
    this.#trial = { way, ends: now + TRIAL_MS };
    return way;
  }

  #go(way: Way, now: number): Way {
    this.#way = way;
    this.#since = now;
    this.#trial = undefined;
    this.#invitedAt = undefined;
    this.#trialAt = now + this.#wait;
    this.#turn = 0;
    return way;
  }
}
