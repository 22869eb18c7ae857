/** What a peer has answered to the question whether it knows the own next key. */
export type KeyAnswer = "known" | "unknown" | "later";

/** Long enough to find out who is there. */
const SHORTEST_MS = 1_500;
/** An answer is good for so long. */
const FRESH_MS = 800;
/** Who does not answer, though it is there, knows nothing of such questions. */
const MUTE_MS = 20_000;
/** Its agent may be away; but not for ever. */
const LONGEST_MS = 600_000;

/** When a site may use its next key: once all peers that are there say that they know it. */
export class KeyTurn {
  readonly #since: number;
  readonly #answers = new Map<string, { readonly answer: KeyAnswer; readonly at: number }>();

  constructor(now: number) {
    this.#since = now;
  }

  /** `who` is a peer on a lane. */
  answered(who: string, answer: KeyAnswer, now: number): void {
    this.#answers.set(who, { answer, at: now });
  }

  /** `heardAt` says of each peer on a lane when it last answered anything. */
  isReady(now: number, heardAt: ReadonlyMap<string, number | undefined>): boolean {
    const waited = now - this.#since;
    if (waited < SHORTEST_MS) return false;
    return [...heardAt].every(([who, at]) => {
      if (at === undefined || at < this.#since || now - at >= SHORTEST_MS) return true;
      const said = this.#answers.get(who);
      if (said === undefined) return waited >= MUTE_MS;
      return (said.answer === "known" && now - said.at < FRESH_MS) || waited >= LONGEST_MS;
    });
  }
}
