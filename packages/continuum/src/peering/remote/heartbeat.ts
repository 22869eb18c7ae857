import { steadyNow, TokenBucket } from "@fjord/base";
import type { Means } from "../../home.ts";

/** How often peers are asked how they are. All times in milliseconds. */
export interface RemoteTiming {
  /** How often a site that is used is asked for its report. */
  readonly beatMs: number;
  /** How long its answer may take. */
  readonly timeoutMs: number;
  /** The longest pause between attempts while it is away and used. */
  readonly retryMs: number;
  /** How often a site that nobody uses is asked. */
  readonly unusedMs: number;
}

export const defaultRemoteTiming: RemoteTiming = { beatMs: 800, timeoutMs: 750, retryMs: 400, unusedMs: 30_000 };

/** With the second answer in a row that does not come a site is lost: the first may be our own tardiness. */
const LOST_AFTER = 2;
/** Where we are late ourselves, the answer may be there and not read yet. */
const LATE_MS = 50;
/** An answer that is overdue is still listened for: one that comes at all comes from a site that is there. */
const PATIENT_MS = 10_000;
/** So many questions are left open beside the newest. */
const MOST_OVERDUE = 2;
/** The most that a site that answers slowly is given before a question counts as asked in vain: loss is still seen within 3 s. */
const SLOWEST_MS = 1_000;

export interface HeartbeatOptions<Report> {
  readonly means: Omit<Means, "metrics">;
  readonly timing: RemoteTiming;
  readonly used: () => boolean;
  readonly ask: (signal: AbortSignal) => Promise<Report>;
  /** How many bytes have come from the site so far, by whatever connection. */
  readonly received?: () => number;
  readonly onHeard: (report: Report, slow: boolean) => void;
  /** Told of an answer that is overdue while other bytes come. */
  readonly onSlow?: () => void;
  /** Told of each failure that counts, and when the first of those in a row began. */
  readonly onUnheard: (error: unknown, since: number) => void;
}

/** How often it is asked sooner than it would be: an answer may be why somebody wants the next one, and would be so without end. */
const SOONER = { burst: 20, perSecond: 5 } as const;

/** Asks again and again; one question at a time, but for those that are overdue. */
export class Heartbeat<Report> {
  readonly #options: HeartbeatOptions<Report>;
  readonly #overdue = new Map<number, AbortController>();
  #asked = 0;
  #answered = 0;
  /** How long an answer may take: more where it has taken more before. */
  #allowanceMs: number;
  #failures = 0;
  #firstFailure = 0;
  #everHeard = false;
  #cancel = () => {};
  /** When it is asked next. */
  #dueAt = Number.NEGATIVE_INFINITY;
  readonly #sooner: TokenBucket;
  #asking = false;
  #again = false;
  #stopped = false;

  constructor(options: HeartbeatOptions<Report>) {
    this.#options = options;
    this.#allowanceMs = options.timing.timeoutMs;
    this.#sooner = new TokenBucket({ ...SOONER, clock: options.means.clock });
  }

  /** Asks now, or soon where it has been asked so often, and from then on; the question under way is followed by another one. */
  refresh(): void {
    if (this.#stopped) return;
    if (this.#asking) {
      this.#again = true;
      return;
    }
    const ms = this.#soon();
    if (ms > 0) {
      this.#askIn(ms);
      return;
    }
    this.#cancel();
    void this.#beat();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    this.#giveUpBefore(Number.POSITIVE_INFINITY);
  }

  async #beat(): Promise<void> {
    const { means, received = () => 0 } = this.#options;
    const { clock } = means;
    this.#asking = true;
    this.#again = false;
    const began = clock.now();
    const before = received();
    try {
      await this.#ask(++this.#asked, began);
    } catch (error) {
      if (this.#stopped) return;
      const isSlow = error instanceof TimedOut && received() > before && this.#isThere;
      if (isSlow) this.#slow();
      else this.#failed(error, began);
    } finally {
      this.#asking = false;
    }
    if (this.#stopped) return;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#askIn(this.#pause(clock.now() - began));
    if (this.#again) this.#askIn(this.#soon());
  }

  /** Unless it is asked sooner anyway. */
  #askIn(ms: number): void {
    const { clock } = this.#options.means;
    const at = steadyNow(clock) + ms;
    if (at >= this.#dueAt) return;
    this.#cancel();
    this.#dueAt = at;
    this.#cancel = clock.after(ms, () => void this.#beat());
  }

  #soon(): number {
    return this.#sooner.tryTake() ? 0 : 1_000 / SOONER.perSecond;
  }

  get #isThere(): boolean {
    return this.#everHeard && this.#failures < LOST_AFTER;
  }

  /** Resolves with the answer. Throws where there is none yet, and goes on listening for it. */
  async #ask(number: number, began: number): Promise<void> {
    const { means, ask } = this.#options;
    const { clock } = means;
    const over = new AbortController();
    const answer = ask(over.signal).then((report) => this.#heard(number, report, clock.now() - began));
    const allowanceMs = this.#allowanceMs;
    const late = Promise.withResolvers<never>();
    let cancel = clock.after(allowanceMs, () => {
      cancel = clock.after(LATE_MS, () => late.reject(new TimedOut(allowanceMs)));
    });
    try {
      await Promise.race([answer, late.promise]);
    } catch (error) {
      if (error instanceof TimedOut) this.#goOnListening(number, answer, over);
      throw error;
    } finally {
      cancel();
    }
  }

  #goOnListening(number: number, answer: Promise<void>, over: AbortController): void {
    // Whatever becomes of it, nobody waits for it.
    const ended = answer.catch(() => {});
    if (this.#stopped || this.#overdue.size >= MOST_OVERDUE) {
      over.abort(new TimedOut(this.#allowanceMs));
      return;
    }
    this.#overdue.set(number, over);
    const cancel = this.#options.means.clock.after(PATIENT_MS, () => over.abort(new TimedOut(PATIENT_MS)));
    void ended.then(() => {
      cancel();
      this.#overdue.delete(number);
    });
  }

  #giveUpBefore(number: number): void {
    for (const [each, over] of this.#overdue) if (each < number) over.abort(new Error("a later answer came first"));
  }

  #heard(number: number, report: Report, tookMs: number): void {
    if (this.#stopped || number < this.#answered) return;
    this.#answered = number;
    this.#giveUpBefore(number);
    this.#failures = 0;
    this.#everHeard = true;
    const { timeoutMs } = this.#options.timing;
    const isSlow = tookMs > timeoutMs + LATE_MS;
    const usual = isSlow ? tookMs * 1.5 : this.#allowanceMs * 0.9;
    this.#allowanceMs = Math.max(timeoutMs, Math.min(usual, SLOWEST_MS));
    this.#options.onHeard(report, isSlow);
  }

  #slow(): void {
    this.#failures = 0;
    this.#options.onSlow?.();
  }

  #failed(error: unknown, began: number): void {
    if (this.#failures++ === 0) this.#firstFailure = began;
    if (!this.#isThere) this.#options.onUnheard(error, this.#firstFailure);
  }

  #pause(spent: number): number {
    const { timing, used, means } = this.#options;
    const jitter = 0.9 + 0.1 * means.random();
    if (this.#failures > 0 && this.#failures < LOST_AFTER) return 0;
    if (!used()) return timing.unusedMs * jitter;
    if (this.#failures === 0) return Math.max(0, timing.beatMs * jitter - spent);
    return Math.min(timing.retryMs, 25 * 2 ** Math.min(this.#failures, 10)) * jitter;
  }
}

export class TimedOut extends Error {
  override readonly name = "TimedOut";

  constructor(ms: number) {
    super(`it did not answer within ${ms} ms`);
  }
}
