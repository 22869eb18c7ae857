/** What a peer says of its keys: the one that it uses, and the one that it is about to. */
export interface ToldKeys {
  readonly current: string;
  readonly next?: string | undefined;
}

/** When WireGuard last agreed on a session by a key, in seconds; 0 or undefined where it never has. */
export type HandshakeOf = (key: string) => number | undefined;

/** Who has asked whether its next key is known says within this time that it takes it, or asks again. */
const ARMED_MS = 1_500;
/** By then there is a session by the new key, if the peer has taken it. */
const PROOF_MS = 700;
/** So many are remembered that a peer has left: it may name another one each second. */
const MOST_LEFT = 16;
/** How long a key that the peer no longer names is still taken, where it has said before that it takes another one, or had left that: until there is a session by the other. */
const DOUBT_MS = 3_000;

/**
 * Which of a peer's keys has its ranges, on one lane: those of one interface belong to one key alone. The others that the peer may take at any moment
 * wait beside it, without ranges, so that a session by one of them shows that it has.
 */
export class PeerKeys {
  #told: ToldKeys;
  #active: string;
  /** Where the peer has said that it takes the active one: the one before, and when. */
  #turn: { readonly before: string; readonly at: number; readonly handshake: number } | undefined;
  #armedUntil = Number.NEGATIVE_INFINITY;
  #doubtUntil: number | undefined;
  /** Keys that it has left. */
  readonly #left = new Set<string>();
  readonly #handshakes = new Map<string, number>();

  /** Of what is known already, as to a process that goes on for another, the key of the last session is the one that is used. */
  constructor(told: ToldKeys, handshakeOf: HandshakeOf = () => undefined) {
    this.#told = told;
    this.#active = told.current;
    for (const key of this.#keys()) this.#handshakes.set(key, handshakeOf(key) ?? 0);
    const { current, next } = told;
    if (next !== undefined && this.#handshakeOf(next) > this.#handshakeOf(current)) this.#active = next;
  }

  /** The one that has the ranges. */
  get active(): string {
    return this.#active;
  }

  /** Others that the peer may take. None while it is about to say so: it would begin with a key that has no ranges yet. */
  standby(now: number): string[] {
    return now < this.#armedUntil ? [] : this.#keys().filter((key) => key !== this.#active);
  }

  /** Whether it is to be looked at often. */
  isTurning(): boolean {
    return this.#turn !== undefined || this.#keys().length > 1;
  }

  /** The peer has said something else. */
  bring(told: ToldKeys, now: number): void {
    if (told.current === this.#told.current && told.next === this.#told.next) return;
    const announced = this.#told.next;
    this.#told = told;
    if (told.current === this.#active || told.next === this.#active) {
      this.#doubtUntil = undefined;
      return;
    }
    if (this.#left.has(told.current) || told.current === announced) this.#doubtUntil ??= now + DOUBT_MS;
    else this.#take(told.current);
  }

  /** The peer asks whether it may take a key. Whether it may. */
  arm(key: string, now: number): boolean {
    if (key === this.#active) return true;
    if (!this.#keys().includes(key)) return false;
    this.#armedUntil = now + ARMED_MS;
    return true;
  }

  /** Whether it is another one than it has, and one that the peer may take. */
  isOther(key: string): boolean {
    return key !== this.#active && this.#keys().includes(key);
  }

  /** The peer says that it takes a key now. Whether that is another one than before. */
  turn(key: string, now: number): boolean {
    if (!this.isOther(key)) return false;
    const before = this.#active;
    this.#take(key);
    this.#turn = { before, at: now, handshake: this.#handshakeOf(key) };
    return true;
  }

  /** Takes over what WireGuard says. Whether other keys are to be there, or with ranges, than before. */
  look(now: number, handshakeOf: HandshakeOf): boolean {
    const [before, waiting] = [this.#active, this.standby(now).join()];
    const isArmedOver = this.#armedUntil !== Number.NEGATIVE_INFINITY && now >= this.#armedUntil;
    if (isArmedOver) this.#armedUntil = Number.NEGATIVE_INFINITY;
    const fresh = this.#keys().filter((key) => (handshakeOf(key) ?? 0) > this.#handshakeOf(key));
    for (const key of fresh) this.#handshakes.set(key, handshakeOf(key) ?? 0);
    if (this.#handshakes.size > MOST_LEFT)
      for (const key of this.#handshakes.keys()) if (!this.#keys().includes(key)) this.#handshakes.delete(key);
    const [taken] = fresh.filter((key) => key !== this.#active);
    if (fresh.includes(this.#active)) this.#turn = undefined;
    else if (taken !== undefined) this.#take(taken);
    else if (this.#turn !== undefined && now - this.#turn.at >= PROOF_MS) this.#take(this.#turn.before);
    if (this.#doubtUntil !== undefined && now >= this.#doubtUntil) this.#take(this.#told.current);
    return isArmedOver || before !== this.#active || waiting !== this.standby(now).join();
  }

  #take(key: string): void {
    this.#left.add(this.#active);
    this.#left.delete(key);
    for (const oldest of this.#left) if (this.#left.size > MOST_LEFT) this.#left.delete(oldest);
    this.#active = key;
    this.#turn = undefined;
    this.#armedUntil = Number.NEGATIVE_INFINITY;
    this.#doubtUntil = undefined;
  }

  /** Those that it may use, or has. */
  get all(): string[] {
    return [...new Set([...this.#keys(), this.#active])];
  }

  /** All that it may use now. What it no longer names is none of them, but for a moment of doubt. */
  #keys(): string[] {
    const { current, next } = this.#told;
    const own = this.#doubtUntil === undefined && this.#turn === undefined ? [] : [this.#active];
    const before = this.#turn === undefined ? [] : [this.#turn.before];
    return [...new Set([current, ...(next === undefined ? [] : [next]), ...own, ...before])];
  }

  #handshakeOf(key: string): number {
    return this.#handshakes.get(key) ?? 0;
  }
}
