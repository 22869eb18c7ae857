import type { Contract } from "@fjord/api";
import { againAfter, Controller, done, type Result, type Runnable, requestFor, type Watch } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { ContractBook } from "./contract-book.ts";
import { endedAt, isSigned, KEPT_MS, nextMoment } from "./contract-life.ts";
import type { ContractStore } from "./contract-store.ts";

/** A proposal is signed within milliseconds as a rule: only one that waits for longer is worth a status of its own. */
const PROPOSAL_SHOWN_MS = 1_000;

export interface ProviderContractsOptions {
  readonly home: Home;
  readonly store: ContractStore;
  readonly book: ContractBook;
}

/** Leads the contracts that this site provides through their lives: each moment comes by a timer, not by looking often. */
export class ProviderContracts implements Runnable {
  readonly name = "provider-contracts";
  readonly needsLeaderElection = true;
  readonly #options: ProviderContractsOptions;
  readonly #controller: Controller;

  constructor(options: ProviderContractsOptions) {
    this.#options = options;
    const { clock, random, logger, metrics } = options.home;
    this.#controller = new Controller({
      name: this.name,
      clock,
      random,
      logger,
      ...(metrics && { metrics }),
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
    if (ended !== undefined && now >= ended + KEPT_MS) {
      await store.remove(contract);
      return done();
    }
    await book.settle(id);
    const settled = store.get(id);
    if (settled === undefined) return done();
    return againAfter(nextMoment(settled, "Provider", home.clock.now()) - home.clock.now());
  }
}

/** Every change of a contract, as a source of a controller. */
export function storeSource(store: ContractStore): Watch {
  return {
    subscribe: (enqueue) => {
      for (const contract of store.all()) enqueue(requestFor(contract));
      return store.onChange((contract: Contract) => enqueue(requestFor(contract)));
    },
    waitForSync: () => store.fresh(),
  };
}
