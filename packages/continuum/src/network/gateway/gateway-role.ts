import { type Clock, describeError, type Logger, type Random, sleep } from "@fjord/base";
import { isAlreadyExists, isConflict, isNotFound, type KubeClient, Lease } from "@fjord/kube";
import { holderOf, leaseWith, type SharesLease, sharesOf } from "./lane-lease.ts";
import { heirOf, inheritedBy, type LaneShares, lanesOn, nextShares, withoutRun } from "./lane-shares.ts";

export interface GatewayRoleOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "update">;
  /** The agent's. */
  readonly namespace: string;
  /** This node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const GATEWAY_LEASE = "fjord-gateway";

const LOOK_MS = 200;
/** Every how many looks it is said that this one lives. */
const BEAT_LOOKS = 2;
/** Who has said nothing for so many looks is replaced: with what the next one needs, within three seconds. Counted by looks, no clock that is set misleads anybody. */
const SILENT_LOOKS = 6;
/** Where others write at the same moment it is tried again at once: where the API is slow, one would else be faster again and again, and the other be taken for silent. */
const TRIES = 4;
/** At its end a run waits no longer than this for the API. */
const RELEASE_MS = 500;

/**
 * Which lanes of its site's links this node carries: those that may share them evenly, by what they write into one Lease. Who carries some goes on while the API is
 * away, as nobody else can have been given them: until it is seen that another one has.
 */
export class GatewayRole {
  readonly #options: GatewayRoleOptions;
  readonly #listeners = new Set<() => void>();
  /** What each run last said, and for how many looks that has been all. */
  readonly #heard = new Map<string, { readonly said: string; looks: number }>();
  #me = "";
  #count: number | undefined;
  #shares: LaneShares | undefined;
  #looksSinceBeat = 0;
  #complaint: string | undefined;

  constructor(options: GatewayRoleOptions) {
    this.#options = options;
  }

  /** The lanes that this node carries, by this run or one before, which has left them as they were. Undefined while it is not known who does. */
  get lanes(): readonly number[] | undefined {
    if (this.#shares === undefined || this.#shares.lanes.every((run) => run === "")) return undefined;
    return lanesOn(this.#shares, this.#options.node);
  }

  /** The node that has what this one carries when this one falls silent; undefined where there is none. */
  get heir(): string | undefined {
    return this.#shares && heirOf(this.#shares, this.#options.node);
  }

  /** The lanes that this one has when another node falls silent. */
  get inherits(): readonly number[] {
    return this.#shares === undefined ? [] : inheritedBy(this.#shares, this.#options.node);
  }

  /** There are so many of them; before that is known nothing is taken. */
  want(count: number): void {
    this.#count = count;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, node, random, logger } = this.#options;
    const chance = Math.floor(random() * 2 ** 48).toString(16);
    this.#me = `${node}_${chance.padStart(12, "0")}`;
    while (!signal.aborted) {
      try {
        for (let tries = 1; !(await this.#look(tries === 1, signal)) && tries < TRIES; tries++);
        this.#complaint = undefined;
      } catch (error) {
        const reason = describeError(error);
        if (!signal.aborted && reason !== this.#complaint)
          logger.warn("who carries the links cannot be read or written", { reason });
        this.#complaint = reason;
      }
      await sleep(clock, LOOK_MS * (1 + 0.02 * random()), signal);
    }
    await this.#release();
  }

  /** Whether what is to be written was, and nobody was faster. It counts only where it `isFirst`: how long somebody is silent is told by looks. */
  async #look(isFirst: boolean, signal: AbortSignal): Promise<boolean> {
    const lease = await this.#get(signal);
    const count = this.#count;
    if (count === undefined) return true;
    const shares = sharesOf(lease, count);
    this.#hear(lease, shares, isFirst ? 1 : 0);
    this.#looksSinceBeat += isFirst ? 1 : 0;
    const mine = shares.lanes.filter((run) => run === this.#me).length;
    // Who has none already is first to take what somebody has lost.
    const patience = SILENT_LOOKS + (mine > 0 ? 1 : 0);
    const isSilent = (run: string) => (this.#heard.get(run)?.looks ?? 0) >= patience;
    const holder = holderOf(lease);
    // One of an earlier version has all of them, and gives none away.
    const isForeign = holder !== "" && !(holder in shares.beats);
    const isDue = this.#looksSinceBeat >= BEAT_LOOKS;
    const isWaiting = isForeign && !isSilent(holder);
    const next = isWaiting ? shares : nextShares(shares, { me: this.#me, count, isSilent, isDue });
    if (next !== shares && !(await this.#write(lease, next, signal))) return false;
    this.#see(next);
    return true;
  }

  /** Whether nobody was faster. */
  async #write(lease: SharesLease | undefined, next: LaneShares, signal?: AbortSignal): Promise<boolean> {
    const { client, namespace, clock } = this.#options;
    const metadata = { name: GATEWAY_LEASE, namespace };
    const wanted = leaseWith(lease ?? { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata }, next, clock);
    const options = signal === undefined ? {} : { signal };
    try {
      if (lease === undefined) await client.create(Lease, wanted, options);
      else await client.update(Lease, wanted, options);
      if (this.#me in next.beats) this.#looksSinceBeat = 0;
      return true;
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error)) return false;
      throw error;
    }
  }

  #hear(lease: SharesLease | undefined, { lanes, beats }: LaneShares, looks: number): void {
    const runs = new Set([...Object.keys(beats), ...lanes.filter((run) => run !== "")]);
    for (const run of this.#heard.keys()) if (!runs.has(run)) this.#heard.delete(run);
    for (const run of runs) {
      const said = run in beats ? String(beats[run]) : JSON.stringify(lease?.spec ?? {});
      const before = this.#heard.get(run);
      if (before?.said === said) before.looks += looks;
      else this.#heard.set(run, { said, looks: 0 });
    }
  }

  #see(shares: LaneShares): void {
    const before = [this.lanes, this.heir];
    this.#shares = shares;
    const isMoved = JSON.stringify(before[0]) !== JSON.stringify(this.lanes);
    if (isMoved) this.#options.logger.info("lanes of links that this node carries", { lanes: this.lanes ?? "unknown" });
    if (!isMoved && before[1] === this.heir) return;
    for (const listener of this.#listeners) listener();
  }

  /** Others need not wait until it is silent. */
  async #release(): Promise<void> {
    const { clock, logger } = this.#options;
    const giveUp = new AbortController();
    const cancel = clock.after(RELEASE_MS, () => giveUp.abort());
    try {
      for (let isWritten = false; !isWritten; ) {
        const lease = await this.#get(giveUp.signal);
        const shares = sharesOf(lease, this.#count ?? 1);
        if (lease === undefined || !(this.#me in shares.beats)) return;
        isWritten = await this.#write(lease, withoutRun(shares, this.#me), giveUp.signal);
      }
    } catch (error) {
      logger.warn("lanes are not given up: others wait until this node is silent", { reason: describeError(error) });
    } finally {
      cancel();
    }
  }

  async #get(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace } = this.#options;
    try {
      return await client.get(Lease, { name: GATEWAY_LEASE, namespace }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
