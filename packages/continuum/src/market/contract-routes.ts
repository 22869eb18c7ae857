import type { Contract } from "@fjord/api";
import { type Clock, describeError, type Logger } from "@fjord/base";
import type { PeerRoute } from "../peer-routes.ts";
import type { ContractReport } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import type { Tenants } from "../tenants.ts";
import type { ContractBook } from "./contract-book.ts";
import { endedAt, endOf, KEPT_MS, phaseOf } from "./contract-life.ts";
import { checkedAcceptance, checkedRequest, checkedStanding } from "./request-check.ts";

/** What the routes need of tenants: to have one made at once, so that the consumer need not ask when it is ready. */
export interface TenantMaker extends Tenants {
  /** Resolves when the tenant's objects exist. */
  ensure(consumer: SiteId, signal?: AbortSignal): Promise<void>;
}

/** Each is decided alone, and written before it is told. */
const COST = 5;

export interface ContractRoutesOptions {
  readonly book: ContractBook;
  readonly tenants: TenantMaker;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What consumers may ask a provider about contracts. */
export class ContractRoutes {
  readonly #options: ContractRoutesOptions;

  constructor(options: ContractRoutesOptions) {
    this.#options = options;
  }

  get routes(): PeerRoute[] {
    const { book, tenants, logger } = this.#options;
    return [
      {
        method: "POST",
        path: "/contracts",
        access: "consumer",
        cost: COST,
        handle: ({ caller, body }) => book.request(caller, checkedRequest(body)),
      },
      {
        method: "PUT",
        path: "/contracts/:id/signature",
        access: "consumer",
        cost: COST,
        handle: async ({ caller, params, body, signal }) => {
          const contract = await book.accept(caller, params.id ?? "", checkedAcceptance(body).signature);
          // The contract stands whatever becomes of the tenant now: its controller goes on, and reports tell of it.
          await tenants.ensure(caller.id, signal).catch((error: unknown) => {
            logger.warn("cannot make a tenant yet", { consumer: caller.id, error: describeError(error) });
          });
          return this.#report(contract);
        },
      },
      {
        // Not only for those who may consume: whoever may no longer can still let go of what it has.
        method: "PUT",
        path: "/contracts/:id/standing",
        access: "peer",
        cost: COST,
        handle: async ({ caller, params, body }) =>
          this.#report(await book.hear(caller, params.id ?? "", checkedStanding(body).standing)),
      },
    ];
  }

  /** The caller's contracts, for its SiteReport. */
  contractsOf(caller: SiteId): ContractReport[] {
    const now = this.#options.clock.now();
    return this.#options.book
      .ofConsumer(caller)
      .filter((contract) => (endedAt(contract) ?? now) > now - KEPT_MS)
      .map((contract) => this.#report(contract));
  }

  #report(contract: Contract): ContractReport {
    const { clock, tenants } = this.#options;
    const now = clock.now();
    const { terms, standing, limit } = contract.spec;
    const endReason = endOf(contract, "Provider", now);
    return {
      id: terms.id,
      phase: phaseOf(contract, "Provider", now),
      standing,
      ...(endReason !== undefined && { endReason }),
      ...(limit && { limit }),
      tenantReady: tenants.get(terms.consumer) !== undefined,
    };
  }
}
