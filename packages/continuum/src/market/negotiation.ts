import { Contract, newObject, type Peering } from "@fjord/api";
import { isAlreadyExists } from "@fjord/kube";
import type { Home } from "../home.ts";
import { canonicalJson, signTerms, siteIdOf, verifyTerms } from "../identity/index.ts";
import { PeerRefused } from "../peer-refused-error.ts";
import type { ContractProposal, ContractReport, ContractRequest, Resources, Terms } from "../protocol.ts";
import type { RemoteSite } from "../remote-site.ts";
import { amountsOf, describeAmounts } from "./amounts.ts";
import { requestIdFor } from "./contract-id.ts";
import { isSigned, lifeStatus } from "./contract-life.ts";
import type { ContractStore } from "./contract-store.ts";
import { TermsRefused } from "./errors.ts";
import { readReport } from "./report-check.ts";
import { readTerms, wrongWith } from "./terms-check.ts";

/** As many contracts of one Peering can have ended within the hour that a provider remembers them. */
const MOST_ATTEMPTS = 16;

export interface Wish {
  readonly peering: Peering;
  readonly site: RemoteSite;

  readonly resources: Resources;
  /** The contract in force, which the new one is to take the place of. */
  readonly supersedes?: Contract;
  /** Name of the newest contract of the Peering, in force or not. */
  readonly previous?: string;
  readonly signal?: AbortSignal;
}

export interface Agreement {
  readonly contract: Contract;
  readonly report: ContractReport;
}

/** Agrees with a provider on a contract. Whatever was done before a crash is found again and gone on from. */
export class Negotiation {
  readonly #home: Home;
  readonly #store: ContractStore;

  constructor({ home, store }: { home: Home; store: ContractStore }) {
    this.#home = home;
    this.#store = store;
  }

  /** Asks, checks, signs, keeps and sends. Throws `PeerRefused` where the provider does not want to. */
  async agree(wish: Wish): Promise<Agreement> {
    await this.#store.fresh();
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#try(wish, attempt);
      } catch (error) {
        if (!isSpent(error) || attempt >= MOST_ATTEMPTS) throw error;
      }
    }
  }

  /** Sends the own signature, again if need be, and keeps what the provider answers. */
  async confirm(
    contract: Contract,
    site: RemoteSite,
    provider: Pick<ContractProposal, "signature">,
  ): Promise<Agreement> {
    const { terms } = contract.spec;
    const { identity, clock } = this.#home;
    const signature = signTerms(identity, terms);
    const report = await site.call<ContractReport>("PUT", `/contracts/${terms.id}/signature`, { signature });
    if (isSigned(contract)) return { contract, report };
    const signatures = [
      { site: terms.provider, value: provider.signature },
      { site: terms.consumer, value: signature },
    ];
    // Said by the provider at this very moment: else the first report would bring a second write.
    const peerStanding = readReport(report)?.standing ?? "Open";
    const status = { ...contract.status, signatures, peerStanding, ...clockNoted(contract, site) };
    const signed = { ...contract, status };
    const active = await this.#store.writeStatus(terms.id, lifeStatus(signed, "Consumer", clock.now()));
    return { contract: active, report };
  }

  async #try(wish: Wish, attempt: number): Promise<Agreement> {
    const { site, peering, resources, supersedes, previous = "" } = wish;
    const amounts = describeAmounts(new Map([...amountsOf(resources)].sort()));
    const before = supersedes?.spec.terms.id;
    const request: ContractRequest = {
      requestId: requestIdFor(peering.metadata.uid ?? "", previous, amounts, attempt),
      resources,
      ...(before !== undefined && { supersedes: before }),
    };
    const proposal = await this.#ask(site, request, wish.signal);
    const contract = await this.#keep(wish, proposal.terms);
    try {
      return await this.confirm(contract, site, proposal);
    } catch (error) {
      // The provider holds it no longer, or another one of that name: the copy stands for nothing.
      if (isRefusal(error, "ContractUnknown", "ProposalLapsed", "SignatureInvalid") && !isSigned(contract)) {
        await this.#store.remove(contract);
      }
      throw error;
    }
  }

  async #ask(site: RemoteSite, request: ContractRequest, signal?: AbortSignal): Promise<ContractProposal> {
    const answer = await site.call<Partial<Record<keyof ContractProposal, unknown>>>(
      "POST",
      "/contracts",
      request,
      signal,
    );
    const refuse = (problem: string) => new TermsRefused({ provider: site.id, problem });
    const terms = readTerms(answer?.terms);
    const { signature, publicKey = site.report?.publicKey } = answer ?? {};
    if (terms === undefined || typeof signature !== "string" || typeof publicKey !== "string") {
      throw refuse("the answer is none");
    }
    const { identity, clock } = this.#home;
    const wrong = wrongWith(
      terms,
      { consumer: identity.id, provider: site.id, request },
      clock.now() + site.clockAhead,
    );
    if (wrong !== undefined) throw refuse(wrong);
    if (siteIdOf(Buffer.from(publicKey, "base64")) !== site.id) throw refuse("the key is not the provider's");
    if (!verifyTerms(publicKey, terms, signature)) throw refuse("the signature does not fit them");
    return { terms, signature, publicKey };
  }

  /** The own copy, kept before the own signature leaves the site. */
  async #keep({ peering, supersedes }: Wish, terms: Terms): Promise<Contract> {
    const known = this.#store.get(terms.id);
    if (known !== undefined && canonicalJson(known.spec.terms) === canonicalJson(terms)) return known;
    if (known !== undefined) await this.#store.remove(known);
    const { name = "", uid = "" } = peering.metadata;
    const owner = { apiVersion: peering.apiVersion, kind: peering.kind, name, uid, controller: true };
    const standing = supersedes?.spec.standing;
    const draft = {
      metadata: { name: terms.id, ownerReferences: [owner] },
      spec: { terms, ...(standing && { standing }) },
    };
    return await this.#store.create(newObject(Contract, draft));
  }
}

/** What a consumer's copy notes of the provider's clock, by which the contract's times are: it must be there when nobody answers. */
export function clockNoted({ status }: Contract, { clockAhead }: RemoteSite): { readonly clockAhead?: number } {
  const seconds = Math.round(clockAhead / 1_000);
  return seconds === (status?.clockAhead ?? 0) ? {} : { clockAhead: seconds };
}

export function isRefusal(error: unknown, ...codes: string[]): error is PeerRefused {
  return error instanceof PeerRefused && codes.includes(error.refusal.code);
}

/** The answer to that very request is over or was not taken in time: ask anew. */
function isSpent(error: unknown): boolean {
  return (
    isRefusal(error, "RequestSpent", "ContractUnknown", "ProposalLapsed", "SignatureInvalid") || isAlreadyExists(error)
  );
}
