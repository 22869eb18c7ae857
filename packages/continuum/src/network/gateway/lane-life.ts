/** A peer is asked about twice a second on each lane: where nothing is heard for so long, another lane is taken. */
const SILENT_MS = 1_600;
/** One that was silent is taken again when it has answered for so long. */
const PROVEN_MS = 3_000;

/** `proving`: it answers again, and has not done so for long enough to be relied on. */
export type LaneState = "alive" | "proving" | "silent";

/** Whether a peer answers on one lane. */
export class LaneLife {
  #isSilent = true;
  #since: number | undefined;
  readonly #isTaken: boolean;
  #firstAt: number | undefined;

  /** `isTaken`: another node had it before, and others send what is for it here. Then it is not silent before there was time for an answer. @default false */
  constructor(isTaken = false) {
    this.#isTaken = isTaken;
  }

  /** `answeredAt` is when it last did; by the clock of `now`. A lane that has never answered is silent. */
  look(now: number, answeredAt: number | undefined): LaneState {
    this.#firstAt ??= now;
    if (answeredAt === undefined) {
      const isSilent = this.#isTaken ? now - this.#firstAt >= SILENT_MS : this.#isSilent;
      return isSilent ? "silent" : "alive";
    }
    const isFirst = this.#since === undefined;
    if (now - answeredAt >= SILENT_MS) {
      this.#isSilent = true;
      this.#since = Number.POSITIVE_INFINITY;
      return "silent";
    }
    if (!this.#isSilent) return "alive";
    this.#since = Math.min(this.#since ?? answeredAt, answeredAt);
    if (isFirst || answeredAt - this.#since >= PROVEN_MS) this.#isSilent = false;
    return this.#isSilent ? "proving" : "alive";
  }

  /** It answers, and is relied on though it is not proven: there is no other. */
  take(): void {
    this.#isSilent = false;
  }
}
