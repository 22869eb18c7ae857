import { Contract, newObject, Site, tenantNamespace } from "@fjord/api";
import { isConflict, isNotFound, sameContent } from "@fjord/kube";
import { parseDuration } from "../duration.ts";
import type { Home } from "../home.ts";
import { signTerms, verifyTerms } from "../identity/index.ts";
import type { LiveContract, LiveContracts } from "../live-contracts.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import type { Caller } from "../peer-routes.ts";
import type { ContractProposal, ContractRequest, Resources, Standing, Terms } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import { amountsOf, formatAmounts } from "./amounts.ts";
import { answers, contractId, lineOf } from "./contract-id.ts";
import {
  type EndReason,
  endedStatus,
  endOf,
  heldUntil,
  isClosedStill,
  isInForce,
  isPromise,
  isSigned,
  lifeStatus,
  standingOf,
} from "./contract-life.ts";
import type { ContractStore } from "./contract-store.ts";
import { decide, freeOf, isClosedTo, type Promised } from "./decide.ts";
import { Lock } from "./lock.ts";

/** More contracts at once than anybody needs: whoever asks for more is at fault or up to something. */
const MOST_CONTRACTS = 64;
const DEFAULT_LIFETIME_MS = 86_400_000;

export interface ContractBookOptions {
  readonly home: Home;
  readonly store: ContractStore;
  /** The own Site, whose policy is read anew for each decision; undefined until it is known. */
  ownSite(): Site | undefined;
}

/** What a provider has promised to whom. All decisions are made one after the other, on the API's own objects. */
export class ContractBook implements LiveContracts {
  readonly #home: Home;
  readonly #store: ContractStore;
  readonly #ownSite: () => Site | undefined;
  readonly #lock = new Lock();

  constructor({ home, store, ownSite }: ContractBookOptions) {
    this.#home = home;
    this.#store = store;
    this.#ownSite = ownSite;
  }

  /** Answers a request by signed terms, which are kept before they are told; or refuses. */
  request(caller: Caller, request: ContractRequest): Promise<ContractProposal> {
    return this.#lock.hold(async () => {
      await this.#store.fresh();
      const known = this.ofConsumer(caller.id).find(({ spec }) => answers(spec.terms.id, caller.id, request.requestId));
      const contract = (known && (await this.#stillGood(known))) ?? (await this.#grant(caller, request));
      const { terms } = contract.spec;
      const { identity } = this.#home;
      return { terms, signature: signTerms(identity, terms), publicKey: identity.publicKey };
    });
  }

  /** The consumer's signature: from here on the contract is in force. Repeating it changes nothing. */
  async accept(caller: Caller, id: string, signature: string): Promise<Contract> {
    await this.#store.fresh();
    // Before its turn: a watch that is slow holds up nobody else.
    await this.#store.shown(id);
    return await this.#lock.hold(async () => {
      await this.#store.fresh();
      const contract = this.#own(caller.id, id);
      const now = this.#home.clock.now();
      const { terms } = contract.spec;
      const end = endOf(contract, "Provider", now);
      if (end !== undefined) throw refusal("ContractEnded", `the contract ${id} is over (${end})`, 410);
      if (!isSigned(contract) && now >= heldUntil(contract)) {
        throw refusal("ProposalLapsed", `the proposal ${id} was not accepted in time; ask again`, 410);
      }
      if (!verifyTerms(caller.publicKey, terms, signature)) {
        throw refusal("SignatureInvalid", "the signature does not fit the terms and the site's key", 400);
      }
      if (isSigned(contract)) return contract;
      await this.#mustStand(contract);
      const signatures = [
        { site: terms.provider, value: signTerms(this.#home.identity, terms) },
        { site: terms.consumer, value: signature },
      ];
      const signed = { ...contract, status: { ...contract.status, signatures } };
      const status = { ...lifeStatus(signed, "Provider", now), tenantNamespace: tenantNamespace(terms.consumer) };
      const active = await this.#sign(contract, status);
      await this.#supersedeOthers(active);
      return active;
    });
  }

  /** What the consumer's owner wants of it. To cancel one of a line cancels what took its place, too. */
  hear(caller: Caller, id: string, standing: Standing): Promise<Contract> {
    return this.#lock.hold(async () => {
      await this.#store.fresh();
      const contract = this.#own(caller.id, id);
      const heard = await this.#hear(contract, standing);
      if (standing !== "Ended") return heard;
      // A consumer that fails halfway through a renewal knows the contract before, and not the one that was made.
      for (const other of this.#lineOf(contract)) await this.#hear(other, standing);
      return heard;
    });
  }

  /** Ends a contract for a reason that its own fields do not say. */
  end(id: string, reason: EndReason): Promise<void> {
    return this.#lock.hold(async () => {
      const contract = this.#store.get(id);
      if (contract === undefined) return;
      if (isSigned(contract)) await this.#end(contract, reason);
      else await this.#store.remove(contract);
    });
  }

  /** Removes whatever there is with a consumer: it is no peer any more. */
  forget(consumer: SiteId): Promise<void> {
    return this.#lock.hold(async () => {
      await this.#store.fresh();
      for (const contract of this.ofConsumer(consumer)) await this.#store.remove(contract);
    });
  }

  /** Brings the object of one contract up to what is true now: called whenever it changed, or its time has come. */
  settle(id: string): Promise<void> {
    return this.#lock.hold(async () => {
      const contract = this.#store.get(id);
      if (contract === undefined) return;
      const now = this.#home.clock.now();
      if (!isSigned(contract) && !isPromise(contract, now)) return this.#store.removeUnchanged(contract);
      const status = lifeStatus(contract, "Provider", now);
      if (!sameContent(status, contract.status)) await this.#store.writeStatus(id, status);
      if (isInForce(contract, "Provider", now)) await this.#supersedeOthers(contract);
      const end = endOf(contract, "Provider", now);
      if (end === "Revoked" || end === "Cancelled" || end === "PeerRemoved") await this.#dropProposals(contract);
      if (end === "Superseded") await this.#passOn(contract);
    });
  }

  /** Every contract and proposal with a consumer that the API still holds. */
  ofConsumer(consumer: SiteId): Contract[] {
    return this.#provided().filter(({ spec }) => spec.terms.consumer === consumer);
  }

  /** Whether the owner of this site has closed all contracts of a consumer, or those that it had last: it is given no other. */
  isClosedTo(consumer: SiteId): boolean {
    return isClosedTo({ promises: this.#promises(), consumer, closedStill: this.#isClosedStill(consumer) });
  }

  /** What is shared, and what of it is free; undefined where nothing is shared. */
  shared(): { shared: Resources; free: Resources } | undefined {
    const sharing = this.#ownSite()?.spec.sharing;
    if (sharing === undefined) return undefined;
    const shared = formatAmounts(amountsOf(sharing.resources));
    return { shared, free: formatAmounts(freeOf(sharing, this.#promises())) };
  }

  resolve(name: string): LiveContract | undefined {
    const line = lineOf(name);
    const now = this.#home.clock.now();
    const live = this.#provided().filter(
      (contract) => lineOf(contract.spec.terms.id) === line && isInForce(contract, "Provider", now),
    );
    return live.map(liveContract).sort((a, b) => b.notAfter - a.notAfter)[0];
  }

  of(consumer: SiteId): readonly LiveContract[] {
    const now = this.#home.clock.now();
    return this.ofConsumer(consumer)
      .filter((contract) => isInForce(contract, "Provider", now))
      .map(liveContract);
  }

  onChange(listener: (consumer: SiteId) => void): () => void {
    return this.#store.onChange(({ spec }) => {
      if (spec.terms.provider === this.#home.identity.id) listener(spec.terms.consumer);
    });
  }

  async #hear(contract: Contract, standing: Standing): Promise<Contract> {
    const now = this.#home.clock.now();
    if ((contract.status?.peerStanding ?? "Open") === standing) return contract;
    if (endOf(contract, "Provider", now) !== undefined) return contract;
    if (!isSigned(contract) && standing === "Ended") {
      await this.#store.remove(contract);
      return contract;
    }
    const told = { ...contract, status: { ...contract.status, peerStanding: standing } };
    return await this.#store.writeStatus(contract.spec.terms.id, lifeStatus(told, "Provider", now));
  }

  #provided(): Contract[] {
    return this.#store.all().filter(({ spec }) => spec.terms.provider === this.#home.identity.id);
  }

  #promises(): Promised[] {
    const now = this.#home.clock.now();
    return this.#provided()
      .filter((contract) => isPromise(contract, now))
      .map(promisedBy);
  }

  #isClosedStill(consumer: SiteId): boolean {
    const now = this.#home.clock.now();
    return this.ofConsumer(consumer).some((contract) => isClosedStill(contract, now));
  }

  #own(consumer: SiteId, id: string): Contract {
    const contract = this.#store.get(id);
    const { terms } = contract?.spec ?? {};
    if (contract === undefined || terms?.consumer !== consumer || terms.provider !== this.#home.identity.id) {
      throw refusal("ContractUnknown", `the provider has no contract ${id} with the site that asked`, 404);
    }
    return contract;
  }

  /** The contract of a request that comes again, unless it is a proposal that is no longer held. */
  async #stillGood(contract: Contract): Promise<Contract | undefined> {
    const now = this.#home.clock.now();
    if (isPromise(contract, now)) return contract;
    if (isSigned(contract)) {
      throw refusal("RequestSpent", `the contract ${contract.spec.terms.id} that was the answer is over`, 410);
    }
    await this.#store.removeUnchanged(contract);
    return undefined;
  }

  /**
   * Looks at a proposal again before it is signed: what spoke for it may be no more. An agent that led before, or a write that came late, may have given
   * its room to others; and the owner may have changed the policy, or closed the contract whose place it takes.
   */
  async #mustStand(contract: Contract): Promise<void> {
    if (!this.#store.hasShown(contract)) throw refusal("NotKnownYet", "the provider's API is slow: ask again", 503);
    const problem = this.#whyNot(contract);
    if (problem === undefined) return;
    await this.#store.remove(contract);
    throw lapsed(contract.spec.terms.id, problem);
  }

  #whyNot(contract: Contract): string | undefined {
    const { id, consumer, resources, supersedes } = contract.spec.terms;
    const now = this.#home.clock.now();
    const before = supersedes === undefined ? undefined : this.#store.get(supersedes);
    if (supersedes !== undefined && (before === undefined || !isInForce(before, "Provider", now))) {
      return `the contract ${supersedes}, whose place it takes, is over`;
    }
    // What the owner has said of the proposal itself counts for more than what it inherited.
    const isUntouched = contract.metadata.generation === 1;
    if (before !== undefined && isUntouched && !sameContent(inherited(before), inherited(contract))) {
      return `the provider's owner has said something else of ${supersedes} since`;
    }
    const decision = decide({
      sharing: this.#ownSite()?.spec.sharing,
      promises: this.#promises().filter((other) => other.id !== id),
      consumer,
      resources,
      ...(before && { supersedes: promisedBy(before) }),
      closedStill: this.#isClosedStill(consumer),
    });
    return decision.granted ? undefined : decision.refusal.message;
  }

  /** One that was let go meanwhile, whoever did it, is not signed: its room may be another's. */
  async #sign(contract: Contract, status: Contract["status"]): Promise<Contract> {
    const { id } = contract.spec.terms;
    const { resourceVersion } = contract.metadata;
    try {
      return await this.#store.writeStatus(id, { ...status }, resourceVersion);
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) throw lapsed(id, "it was changed meanwhile");
      throw error;
    }
  }

  async #grant(caller: Caller, request: ContractRequest): Promise<Contract> {
    const site = await this.#policy();
    const now = this.#home.clock.now();
    const supersedes = request.supersedes === undefined ? undefined : this.#inForce(caller.id, request.supersedes);
    // Whoever is about to sign one of these finds it gone: only then its room is free.
    for (const each of this.#provided()) {
      if (!isSigned(each) && !isPromise(each, now)) await this.#store.removeUnchanged(each);
    }
    const promises = this.#promises();
    if (promises.filter(({ consumer }) => consumer === caller.id).length >= MOST_CONTRACTS) {
      throw refusal("TooManyContracts", `one consumer has at most ${MOST_CONTRACTS} contracts at once`, 429);
    }
    const decision = decide({
      sharing: site?.spec.sharing,
      promises,
      consumer: caller.id,
      resources: request.resources,
      ...(supersedes && { supersedes: promisedBy(supersedes) }),
      closedStill: this.#isClosedStill(caller.id),
    });
    if (!decision.granted) throw new PeerRefused(decision.refusal, 403);
    const terms = this.#terms(caller.id, request, site, now);
    const spec = { terms, ...(supersedes && inherited(supersedes)) };
    return await this.#store.create(newObject(Contract, { metadata: { name: terms.id }, spec }));
  }

  /** The own Site as it is at this moment: what its owner has said just now holds for whoever asks next. */
  async #policy(): Promise<Site | undefined> {
    const { name } = this.#ownSite()?.metadata ?? {};
    return name === undefined ? undefined : await this.#home.client.get(Site, { name });
  }

  #terms(consumer: SiteId, request: ContractRequest, site: Site | undefined, now: number): Terms {
    const sharing = site?.spec.sharing;
    const lifetime = parseDuration(sharing?.contractLifetime ?? "") ?? DEFAULT_LIFETIME_MS;
    const properties = site?.spec.properties;
    return {
      id: contractId(consumer, request.requestId, request.supersedes),
      consumer,
      provider: this.#home.identity.id,
      resources: formatAmounts(amountsOf(request.resources)),
      ...(properties !== undefined && { properties }),
      notBefore: new Date(now).toISOString(),
      notAfter: new Date(now + lifetime).toISOString(),
      enforcement: sharing?.enforcement ?? "None",
      ...(request.supersedes !== undefined && { supersedes: request.supersedes }),
    };
  }

  #inForce(consumer: SiteId, id: string): Contract {
    const contract = this.#own(consumer, id);
    if (isInForce(contract, "Provider", this.#home.clock.now())) return contract;
    throw refusal("ContractEnded", `the contract ${id} is not in force, so that nothing can supersede it`, 410);
  }

  /** Two contracts of a line stand together for a moment only; should that be cut short, `settle` goes on. */
  async #supersedeOthers(newest: Contract): Promise<void> {
    const { id } = newest.spec.terms;
    const now = this.#home.clock.now();
    for (const other of this.#lineOf(newest)) {
      if (!isInForce(other, "Provider", now) || begins(other) > begins(newest)) continue;
      const status = { ...endedStatus(other, "Provider", now, "Superseded"), supersededBy: id };
      await this.#store.writeStatus(other.spec.terms.id, status);
    }
  }

  /**
   * What the owner said of a contract in the moment in which another took its place holds for that one, of which they could not know. Once they have said
   * something of that one, it is theirs to say.
   */
  async #passOn(contract: Contract): Promise<void> {
    const next = this.#store.get(contract.status?.supersededBy ?? "");
    if (next === undefined || next.metadata.generation !== 1) return;
    if (endOf(next, "Provider", this.#home.clock.now()) !== undefined) return;
    if (!sameContent(inherited(contract), inherited(next))) await this.#store.writeWish(next, contract.spec);
  }

  async #dropProposals(contract: Contract): Promise<void> {
    for (const other of this.#lineOf(contract)) if (!isSigned(other)) await this.#store.remove(other);
  }

  #lineOf({ spec }: Contract): Contract[] {
    const { id } = spec.terms;
    return this.#provided().filter((other) => other.spec.terms.id !== id && lineOf(other.spec.terms.id) === lineOf(id));
  }

  async #end(contract: Contract, reason: EndReason): Promise<void> {
    const now = this.#home.clock.now();
    if (endOf(contract, "Provider", now) !== undefined) return;
    await this.#store.writeStatus(contract.spec.terms.id, endedStatus(contract, "Provider", now, reason));
  }
}

/** The owner's wishes of a contract hold for the one that takes its place too. */
function inherited({ spec }: Contract): Partial<Contract["spec"]> {
  return { standing: spec.standing, ...(spec.limit && { limit: spec.limit }) };
}

function promisedBy(contract: Contract): Promised {
  const { standing, limit, terms } = contract.spec;
  const { id, consumer, resources } = terms;
  const closed = standing !== "Open";
  return { id, consumer, resources, closed, proposed: !isSigned(contract), ...(limit && { limit }) };
}

function liveContract(contract: Contract): LiveContract {
  const { id, consumer, resources, enforcement, notAfter } = contract.spec.terms;
  const standing = standingOf(contract);
  const rest = {
    takesPods: standing === "Open",
    drained: standing === "Drained",
    cleared: contract.spec.standing === "Drained",
  };
  return { id, consumer, resources, enforcement, notAfter: Date.parse(notAfter), ...rest };
}

function begins({ spec }: Contract): number {
  return Date.parse(spec.terms.notBefore);
}

function lapsed(id: string, why: string): PeerRefused {
  return refusal("ProposalLapsed", `the proposal ${id} stands no longer: ${why}; ask again`, 410);
}

function refusal(code: string, message: string, statusCode: number): PeerRefused {
  return new PeerRefused({ code, message }, statusCode);
}
