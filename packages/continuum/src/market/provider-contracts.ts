import type { Contract } from "@fjord/api";
import { againAfter, type Controller, done, type Result, type Runnable, requestFor, type Watch } from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { type Amounts, amountsOf, formatAmounts, sameAmounts } from "./amounts.ts";
import type { ContractBook } from "./contract-book.ts";
import {
  type ContractStatus,
  endedAt,
  isClosedStill,
  isInForce,
  isSigned,
  keptMs,
  nextMoment,
} from "./contract-life.ts";
import type { ContractStore } from "./contract-store.ts";

/** A proposal is signed within milliseconds as a rule: only one that waits for longer is worth a status of its own. */
const PROPOSAL_SHOWN_MS = 1_000;

/** What guests take is for people to see: often enough at this pace. */
const USE_SHOWN_EVERY_MS = 15_000;
const MOST_RESOURCES = 12;
/** Of one consumer's ended contracts that are kept for inspection. */
const MOST_KEPT = 32;

export interface ProviderContractsOptions {
  readonly home: Home;
  readonly store: ContractStore;
  readonly book: ContractBook;
  /** What the guests of a contract, or of one that it superseded, take of it. */
  used?(contract: string): Amounts;
}

/** Leads the contracts that this site provides through their lives: each moment comes by a timer, not by looking often. */
export class ProviderContracts implements Runnable {
  readonly name = "provider-contracts";
  readonly needsLeaderElection = true;
  readonly #options: ProviderContractsOptions;
  readonly #controller: Controller;

  constructor(options: ProviderContractsOptions) {
    this.#options = options;
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [storeSource(options.store)],
      concurrency: 4,
      backoff: { max: 10_000 },
      reconcile: ({ name }) => this.#reconcile(name),
    });
  }

  run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    return this.#controller.run(stop, abandon);
  }

  async #reconcile(id: string): Promise<Result> {
    const { home, store, book } = this.#options;
    const contract = store.get(id);
    if (contract === undefined || contract.spec.terms.provider !== home.identity.id) return done();
    const now = home.clock.now();
    const age = now - Date.parse(contract.spec.terms.notBefore);
    if (!isSigned(contract) && age < PROPOSAL_SHOWN_MS) return againAfter(PROPOSAL_SHOWN_MS - age);
    const ended = endedAt(contract);
    if (ended !== undefined) {
      // It remembers what the owner said, until they take that back or the peer goes.
      if (this.#isLastClosed(contract, ended, now)) return done();
      if (now >= ended + keptMs(contract, "Provider") || this.#isOneOfTooMany(contract, ended)) {
        await store.remove(contract);
        return done();
      }
    }
    await book.settle(id);
    const settled = store.get(id);
    if (settled === undefined) return done();
    const next = nextMoment(settled, "Provider", home.clock.now()) - home.clock.now();
    if (this.#options.used === undefined || !isInForce(settled, "Provider", now)) return againAfter(next);
    await this.#noteUse(settled, this.#options.used(id));
    return againAfter(Math.min(next, USE_SHOWN_EVERY_MS));
  }

  /** Whoever makes and ends contracts all day fills nobody's API with them. */
  #isOneOfTooMany(contract: Contract, ended: number): boolean {
    const others = this.#options.book.ofConsumer(contract.spec.terms.consumer);
    return others.filter((other) => (endedAt(other) ?? 0) > ended).length >= MOST_KEPT;
  }

  #isLastClosed(contract: Contract, ended: number, now: number): boolean {
    if (!isClosedStill(contract, now)) return false;
    const others = this.#options.book.ofConsumer(contract.spec.terms.consumer);
    return !others.some((other) => isClosedStill(other, now) && isLater(other, contract, ended));
  }

  async #noteUse(contract: Contract, used: Amounts): Promise<void> {
    const before = contract.status?.used ?? {};
    const after = formatAmounts(new Map([...used].slice(0, MOST_RESOURCES)));
    if (sameAmounts(amountsOf(before), amountsOf(after))) return;
    const gone = Object.keys(before).filter((name) => !(name in after));
    const patch = { ...Object.fromEntries(gone.map((name) => [name, null])), ...after };
    await this.#options.store.writeStatus(contract.spec.terms.id, { used: patch } as ContractStatus);
  }
}

/** Times are whole seconds: of two that ended in one, the name decides. */
function isLater(other: Contract, { spec }: Contract, ended: number): boolean {
  const when = endedAt(other) ?? 0;
  return when > ended || (when === ended && other.spec.terms.id > spec.terms.id);
}

/** Every change of a contract, as a source of a controller. */
export function storeSource(store: ContractStore): Watch {
  return {
    subscribe: (enqueue) => {
      for (const contract of store.all()) enqueue(requestFor(contract));
      return store.onChange((contract: Contract) => enqueue(requestFor(contract)));
    },
    waitForSync: (signal) => store.known(signal),
  };
}
