import type { Contract } from "@fjord/api";
import { describeError } from "@fjord/base";
import { againAfter, type Controller, done, type Result, type Runnable, sameContent } from "@fjord/kube";
import type { Home } from "../home.ts";
import { homeController } from "../home-controller.ts";
import { type ContractReport, HELD_MS, type Standing } from "../protocol.ts";
import type { RemoteSite, RemoteSites } from "../remote-site.ts";
import type { SiteId } from "../site-identity.ts";
import {
  type ContractStatus,
  type EndReason,
  type ExpiringReason,
  endedAt,
  endedStatus,
  endOf,
  heldUntil,
  isInForce,
  isSigned,
  KEPT_MS,
  lifeStatus,
  nextMoment,
} from "./contract-life.ts";
import type { ContractStore } from "./contract-store.ts";
import { clockNoted, isRefusal, type Negotiation } from "./negotiation.ts";
import { storeSource } from "./provider-contracts.ts";
import { readReport } from "./report-check.ts";

export interface ConsumerContractsOptions {
  readonly home: Home;
  readonly store: ContractStore;
  readonly sites: RemoteSites;
  readonly negotiation: Negotiation;
}

/** After how long a contract is asked for again that the provider's report does not have, or not yet. */
const UNREPORTED_MS = 2_000;
/** So many are looked at by one report, which may have made them up; others by the next one, when these are gone. */
const MOST_UNKNOWN = 16;
/** For how long a provider must report a contract that has no copy here before it is let go. */
const UNKNOWN_MS = 5_000;

/** Leads the contracts that this site consumes by through their lives, by what their providers report and by time. */
export class ConsumerContracts implements Runnable {
  readonly name = "consumer-contracts";
  readonly needsLeaderElection = true;
  readonly #options: ConsumerContractsOptions;
  readonly #controller: Controller;
  /** Why each contract that nears its end is not renewed yet, as whoever renews them says. */
  readonly #expiring = new Map<string, ExpiringReason>();
  /** What each provider was told since this process began. */
  readonly #told = new Map<string, Standing>();
  /** Since when a contract in force is reported that has no copy here. */
  readonly #unknown = new Map<string, number>();

  constructor(options: ConsumerContractsOptions) {
    this.#options = options;
    this.#controller = homeController(options.home, {
      name: this.name,
      sources: [storeSource(options.store)],
      concurrency: 4,
      waitsOn: ({ namespace: site, name }) => site ?? options.store.get(name)?.spec.terms.provider,
      backoff: { initial: 50, max: 5_000 },
      reconcile: ({ namespace: site, name }, { signal }) =>
        site === undefined ? this.#lead(name, signal) : this.#letGo(site, name, signal),
    });
  }

  async run(stop: AbortSignal, abandon: AbortSignal): Promise<void> {
    const { sites } = this.#options;
    const unsubscribe = sites.onChange((site) => this.#siteChanged(site));
    for (const { id } of sites.list()) this.#siteChanged(id);
    try {
      await this.#controller.run(stop, abandon);
    } finally {
      unsubscribe();
    }
  }

  /** Says why a contract is not renewed yet. */
  noteExpiring(id: string, reason: ExpiringReason): void {
    if (this.#expiring.get(id) === reason) return;
    this.#expiring.set(id, reason);
    this.#controller.enqueue({ name: id });
  }

  #siteChanged(site: SiteId): void {
    for (const { spec } of this.#options.store.all()) {
      if (spec.terms.provider === site) this.#controller.enqueue({ name: spec.terms.id });
    }
    const unknown = reportsInForce(this.#options.sites.get(site)).filter(
      ({ id }) => this.#options.store.get(id) === undefined,
    );
    for (const { id } of unknown.slice(0, MOST_UNKNOWN)) this.#controller.enqueue({ namespace: site, name: id });
  }

  /**
   * Lets a contract go that the provider keeps for this site and nobody here knows of: this site was wiped, or restored from a time
   * before it. A copy is written before its signature is sent, so that none is on its way.
   */
  async #letGo(provider: SiteId, id: string, signal: AbortSignal): Promise<Result> {
    const { home, store, sites } = this.#options;
    await store.fresh();
    const site = sites.get(provider);
    const isKept = reportsInForce(site).some((report) => report.id === id);
    if (site === undefined || !isKept || store.get(id) !== undefined || !site.reachability.reachable) {
      this.#unknown.delete(id);
      return done();
    }
    const now = home.clock.now();
    const since = this.#unknown.get(id) ?? now;
    this.#unknown.set(id, since);
    if (now < since + UNKNOWN_MS) return againAfter(since + UNKNOWN_MS - now);
    home.logger.info("a contract of which nothing is known here is let go", { contract: id, provider });
    await site.call("PUT", `/contracts/${id}/standing`, { standing: "Ended" }, signal);
    this.#unknown.delete(id);
    site.refresh();
    return done();
  }

  async #lead(id: string, signal: AbortSignal): Promise<Result> {
    const { home, store, sites } = this.#options;
    const contract = store.get(id);
    if (contract === undefined) {
      this.#forget(id);
      this.#lookFor(id);
    }
    if (contract === undefined || contract.spec.terms.consumer !== home.identity.id) return done();
    const now = home.clock.now();
    const ended = endedAt(contract);
    if (ended !== undefined && now >= ended + KEPT_MS) {
      await store.remove(contract);
      return done();
    }
    if (!isSigned(contract)) return await this.#awaitSignature(contract, now);
    const site = sites.get(contract.spec.terms.provider);
    await this.#show(contract, site, await this.#heard(contract, site), now);
    await this.#endSuperseded(contract, now);
    await this.#tell(contract, site, signal);
    const current = store.get(id) ?? contract;
    const next = Math.max(1, nextMoment(current, "Consumer", now) - home.clock.now());
    // What comes and goes between two reports changes neither: nobody would tell that the provider has let go of it.
    const isDue = site?.report !== undefined && isInForce(current, "Consumer", now) && reportOf(site, id) === undefined;
    return againAfter(isDue ? Math.min(next, UNREPORTED_MS) : next);
  }

  /** A copy whose provider holds it no longer stands for nothing. Until then whoever negotiates may go on with it. */
  async #awaitSignature(contract: Contract, now: number): Promise<Result> {
    const { clockAhead = 0 } = this.#options.sites.get(contract.spec.terms.provider) ?? {};
    const lapses = heldUntil(contract) - clockAhead + HELD_MS;
    if (now < lapses) return againAfter(lapses - now);
    await this.#options.store.remove(contract);
    return done();
  }

  /** What the provider says of the contract; undefined where it does not answer. */
  async #heard(contract: Contract, site: RemoteSite | undefined): Promise<ContractReport | undefined> {
    const { id } = contract.spec.terms;
    const { home, negotiation } = this.#options;
    if (site === undefined || !isInForce(contract, "Consumer", home.clock.now())) return undefined;
    if (site.reachability.forgotten) return revoked(id);
    if (site.report === undefined || !site.reachability.reachable) return undefined;
    const heard = reportOf(site, id);
    if (heard !== undefined) return readReport(heard);
    try {
      // The report may be older than the contract: to send the signature again tells, and changes nothing.
      const signature = contract.status?.signatures?.find(({ site: signer }) => signer === site.id)?.value ?? "";
      return readReport((await negotiation.confirm(contract, site, { signature })).report);
    } catch (error) {
      if (!isRefusal(error, "ContractUnknown", "ContractEnded", "ProposalLapsed")) throw error;
      return revoked(id);
    }
  }

  async #show(
    contract: Contract,
    site: RemoteSite | undefined,
    heard: ContractReport | undefined,
    now: number,
  ): Promise<void> {
    const { id } = contract.spec.terms;
    const told = heard && site ? { ...contract, status: withReport(contract, heard, site) } : contract;
    const reason = heard?.phase === "Ended" && endOf(told, "Consumer", now) === undefined ? heard.endReason : undefined;
    const status =
      reason === undefined
        ? lifeStatus(told, "Consumer", now, this.#expiring.get(id))
        : endedStatus(told, "Consumer", now, reason as EndReason);
    if (!sameContent(status, contract.status)) await this.#options.store.writeStatus(id, status);
  }

  async #endSuperseded(newest: Contract, now: number): Promise<void> {
    const { store } = this.#options;
    const { id, supersedes = "" } = newest.spec.terms;
    const old = store.get(supersedes);
    if (old === undefined || !isInForce(newest, "Consumer", now) || !isInForce(old, "Consumer", now)) return;
    await store.writeStatus(supersedes, { ...endedStatus(old, "Consumer", now, "Superseded"), supersededBy: id });
  }

  /** Tells the provider what the own owner wants, once for each change; a provider that is away is told when it is back. */
  async #tell(contract: Contract, site: RemoteSite | undefined, signal: AbortSignal): Promise<void> {
    const { terms, standing } = contract.spec;
    const untouched = contract.metadata.generation === 1 && standing === "Open";
    const over = endOf(contract, "Consumer", this.#options.home.clock.now());
    // One that had forgotten this site, and remembers it after all, is to keep nothing for it.
    const isKept = over === "Revoked" && reportsInForce(site).some(({ id }) => id === terms.id);
    const wish = isKept ? "Ended" : standing;
    const isUntold = isKept || (!untouched && (over === undefined || over === "Cancelled"));
    if (!isUntold || this.#told.get(terms.id) === wish) return;
    if (site === undefined || !site.reachability.reachable) return;
    try {
      await site.call("PUT", `/contracts/${terms.id}/standing`, { standing: wish }, signal);
    } catch (error) {
      if (!isRefusal(error, "ContractUnknown")) throw error;
      this.#options.home.logger.debug("the provider has no such contract any more", {
        contract: terms.id,
        error: describeError(error),
      });
    }
    this.#told.set(terms.id, wish);
    site.refresh();
  }

  /** A contract whose copy is gone was called off, or else its provider goes on reporting it. */
  #lookFor(id: string): void {
    for (const site of this.#options.sites.list()) {
      const isKept = reportsInForce(site).some((report) => report.id === id);
      if (isKept) this.#controller.enqueue({ namespace: site.id, name: id }, UNKNOWN_MS);
    }
  }

  #forget(id: string): void {
    this.#expiring.delete(id);
    this.#told.delete(id);
  }
}

const read = new WeakMap<readonly ContractReport[], readonly ContractReport[]>();

/** What a provider reports as in force, under names that contracts have. A report is read once, however often it is asked for. */
function reportsInForce(site: RemoteSite | undefined): readonly ContractReport[] {
  const { contracts = [] } = site?.report ?? {};
  const known = read.get(contracts);
  if (known !== undefined) return known;
  const inForce = contracts
    .map(readReport)
    .filter((report) => report !== undefined)
    .filter(({ id, phase }) => /^[a-z0-9-]{1,63}$/.test(id) && (phase === "Active" || phase === "Expiring"));
  read.set(contracts, inForce);
  return inForce;
}

/** What a provider would say of a contract that it has let go of. */
function revoked(id: string): ContractReport {
  return { id, standing: "Ended", phase: "Ended", tenantReady: false, endReason: "Revoked" };
}

function reportOf(site: RemoteSite, id: string): ContractReport | undefined {
  return site.report?.contracts.find((report) => report?.id === id);
}

function withReport(contract: Contract, { standing, limit }: ContractReport, site: RemoteSite): ContractStatus {
  // Null takes a field away in a merge patch.
  const peerLimit = limit ?? (contract.status?.peerLimit === undefined ? undefined : null);
  return {
    ...contract.status,
    ...clockNoted(contract, site),
    peerStanding: standing,
    ...(peerLimit !== undefined && { peerLimit }),
  } as ContractStatus;
}
