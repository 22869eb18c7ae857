import { type Clock, describeError } from "@fjord/base";

/** Returns when all is well, throws when not. It must respect the signal. */
export type HealthCheck = (signal: AbortSignal) => void | Promise<void>;

export interface HealthReport {
  readonly ok: boolean;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly message?: string }[];
}

/** Named checks that together answer one question, such as "is it ready?". */
export class HealthChecks {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(options: { clock: Clock; timeoutMs?: number }) {
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? 5_000;
  }

  add(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** Asks every check but those excluded, all at the same time; one that does not answer has failed. */
  async report(exclude: ReadonlySet<string> = new Set()): Promise<HealthReport> {
    const asked = [...this.#checks].filter(([name]) => !exclude.has(name));
    const checks = await Promise.all(asked.map(([name, check]) => this.#ask(name, check)));
    return { ok: checks.every(({ ok }) => ok), checks };
  }

  async #ask(name: string, check: HealthCheck): Promise<HealthReport["checks"][number]> {
    const giveUp = new AbortController();
    const silent = Promise.withResolvers<never>();
    const cancel = this.#clock.after(this.#timeoutMs, () => {
      giveUp.abort();
      silent.reject(new Error(`no answer within ${this.#timeoutMs} ms`));
    });
    try {
      await Promise.race([(async () => check(giveUp.signal))(), silent.promise]);
      return { name, ok: true };
    } catch (error) {
      return { name, ok: false, message: describeError(error) };
    } finally {
      cancel();
    }
  }
}
