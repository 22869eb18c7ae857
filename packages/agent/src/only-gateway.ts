import { type Clock, defineError, describeError, type Logger, sleep } from "@fjord/base";

export const GatewayAlreadyRuns = defineError(
  "GATEWAY_ALREADY_RUNS",
  "another gateway runs on this node, and two would undo what the other does",
  "Leave the links to it, or stop it first: `ps -ef | grep 'gateway run'` on the node finds its process, also where that is a pod's.",
);

/** One that ends is waited for so long: its successor may have been started meanwhile. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 250;

/** What one process at a time has. */
export interface Claim extends AsyncDisposable {
  /** Why it is over, in words. */
  readonly ended: Promise<string>;
}

export interface OnlyGatewayOptions {
  /** Undefined where another process has it; rejects where nobody can. */
  readonly take: () => Promise<Claim | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** @default 5,000 */
  readonly patienceMs?: number;
}

/** That this process is the only gateway of the node, whose network two would change in turns. Where nobody can know, that is logged, and it goes on. */
export class OnlyGateway implements AsyncDisposable {
  readonly #options: OnlyGatewayOptions;
  readonly #lost = new AbortController();
  #claim: Claim | undefined;
  #isOver = false;

  private constructor(options: OnlyGatewayOptions) {
    this.#options = options;
  }

  /** Refuses where another one is. Holds until it is disposed. */
  static async begin(options: OnlyGatewayOptions): Promise<OnlyGateway> {
    const only = new OnlyGateway(options);
    await only.#take(options.patienceMs ?? PATIENCE_MS);
    return only;
  }

  /** Aborted where another one has come in between. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#claim?.[Symbol.asyncDispose]();
  }

  async #take(patienceMs: number): Promise<void> {
    const { clock, logger, signal } = this.#options;
    for (let waited = 0; ; waited += LOOK_MS) {
      try {
        this.#claim = await this.#options.take();
      } catch (error) {
        logger.warn("a second gateway on this node would not be noticed", { reason: describeError(error) });
        return;
      }
      if (this.#claim !== undefined) {
        void this.#claim.ended.then((reason) => this.#takeAgain(reason));
        return;
      }
      signal.throwIfAborted();
      if (waited >= patienceMs) throw new GatewayAlreadyRuns({});
      await sleep(clock, LOOK_MS, signal);
    }
  }

  /** What holds it is a process of its own, which may be killed by itself. */
  async #takeAgain(reason: string): Promise<void> {
    if (this.#isOver) return;
    const { clock, logger, signal } = this.#options;
    logger.warn("what keeps a second gateway from this node has ended, and is begun again", { reason });
    try {
      await sleep(clock, LOOK_MS, signal);
      if (this.#isOver) return;
      await this.#take(0);
    } catch (error) {
      if (!signal.aborted) this.#lost.abort(error);
      return;
    }
    if (this.#isOver) await this.#claim?.[Symbol.asyncDispose]();
  }
}
