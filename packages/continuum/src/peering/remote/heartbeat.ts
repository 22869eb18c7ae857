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

export interface HeartbeatOptions<Report> {
  readonly means: Omit<Means, "metrics">;
  readonly timing: RemoteTiming;
  readonly used: () => boolean;
  readonly ask: (signal: AbortSignal) => Promise<Report>;
  readonly onHeard: (report: Report) => void;
  /** Told of each failure that counts, and when the first of those in a row began. */
  readonly onUnheard: (error: unknown, since: number) => void;
}

/** Asks again and again, one question at a time. */
export class Heartbeat<Report> {
  readonly #options: HeartbeatOptions<Report>;
  #failures = 0;
  #firstFailure = 0;
  #everHeard = false;
  #cancel = () => {};
  #asking = false;
  #again = false;
  #stopped = false;

  constructor(options: HeartbeatOptions<Report>) {
    this.#options = options;
  }

  /** Asks now, and from then on; the question under way is followed by another one. */
  refresh(): void {
    if (this.#stopped) return;
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#cancel();
    void this.#beat();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #beat(): Promise<void> {
    const { clock } = this.#options.means;
    this.#asking = true;
    this.#again = false;
    const began = clock.now();
    try {
      const report = await this.#ask();
      if (this.#stopped) return;
      this.#failures = 0;
      this.#everHeard = true;
      this.#options.onHeard(report);
    } catch (error) {
      if (this.#stopped) return;
      if (this.#failures++ === 0) this.#firstFailure = began;
      if (this.#failures >= LOST_AFTER || !this.#everHeard) this.#options.onUnheard(error, this.#firstFailure);
    } finally {
      this.#asking = false;
    }
    this.#cancel = clock.after(this.#again ? 0 : this.#pause(clock.now() - began), () => void this.#beat());
  }

  async #ask(): Promise<Report> {
    const { timing, means, ask } = this.#options;
    const late = new AbortController();
    const onLate = () => late.abort(new TimedOut(timing.timeoutMs));
    let cancel = means.clock.after(timing.timeoutMs, () => {
      cancel = means.clock.after(LATE_MS, onLate);
    });
    try {
      return await ask(late.signal);
    } finally {
      cancel();
    }
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
