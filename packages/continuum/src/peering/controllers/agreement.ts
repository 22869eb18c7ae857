import type { Contract, Peering } from "@fjord/api";
import { ConnectionError, getCondition } from "@fjord/kube";
import type { Home } from "../../home.ts";
import {
  type Amounts,
  amountsOf,
  atMost,
  type ConsumerContracts,
  type ContractStore,
  endOf,
  formatAmounts,
  isInForce,
  isRefusal,
  isSigned,
  lifetimeOf,
  type Negotiation,
  sameAmounts,
  TermsRefused,
  type Wish,
} from "../../market/index.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { ContractReport } from "../../protocol.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { whyNotDialledIn } from "../remote/failure-reason.ts";
import type { Answer } from "./peering-status.ts";

/** How long after a refusal it is asked again, should nothing be heard of the provider before. */
const REFUSED_AGAIN_MS = 30_000;
const SILENT_AGAIN_MS = 2_000;

export interface Agreed {
  readonly answer: Answer<"Agreed">;
  /** The contract in force. */
  readonly contract?: Contract;
  /** What the provider answered, where it was asked just now. */
  readonly report?: ContractReport;
  /** Name of the newest contract, in force or not. */
  readonly newest?: string;
  /** When to look again even if nothing changes. */
  readonly againMs?: number;
  /** The provider does not know this site, or no longer lets it ask. */
  readonly stranger?: boolean;
  /** It does not answer. */
  readonly silent?: boolean;
}

export interface AgreementOptions {
  readonly home: Home;
  readonly store: ContractStore;
  readonly negotiation: Negotiation;
  readonly contracts: Pick<ConsumerContracts, "noteExpiring">;
}

/** Keeps a Peering's contract: the first one, renewals, and other amounts as either side wants them. */
export class Agreement {
  readonly #options: AgreementOptions;

  constructor(options: AgreementOptions) {
    this.#options = options;
  }

  /** The Peering's own copies, newest first. */
  contractsOf(peering: Peering): Contract[] {
    const { store, home } = this.#options;
    return store
      .all()
      .filter(({ spec, metadata }) => {
        const isOwn = metadata.ownerReferences?.some(({ uid }) => uid === peering.metadata.uid);
        return isOwn && spec.terms.consumer === home.identity.id;
      })
      .sort((a, b) => Date.parse(b.spec.terms.notBefore) - Date.parse(a.spec.terms.notBefore));
  }

  async keep(peering: Peering, site: RemoteSite, signal: AbortSignal): Promise<Agreed> {
    await this.#options.store.fresh();
    const now = this.#options.home.clock.now();
    // A copy that was never signed stands for a request that is asked again, not for a contract before it.
    const contracts = this.contractsOf(peering).filter(isSigned);
    const current = contracts.find((contract) => isInForce(contract, "Consumer", now));
    return current === undefined
      ? await this.#begin(peering, contracts[0], site, signal)
      : await this.#goOn(peering, current, site, signal);
  }

  async #begin(peering: Peering, last: Contract | undefined, site: RemoteSite, signal: AbortSignal): Promise<Agreed> {
    const previous = last?.spec.terms.id ?? peering.status?.contract;
    const over = this.#isOver(peering, last);
    if (over !== undefined) return { answer: over, ...(previous !== undefined && { newest: previous }) };
    try {
      const resources = formatAmounts(amountsOf(peering.spec.resources));
      const wish = { peering, site, resources, signal, ...(previous !== undefined && { previous }) };
      const { contract, report } = await this.#agreeAnew(wish, this.#halfSigned(peering, last));
      return this.#active(peering, contract, report);
    } catch (error) {
      return refused(error, peering.spec.site);
    }
  }

  /** The contract before, where its provider has put another in its place of which only the copy here was not signed any more. */
  #halfSigned(peering: Peering, last: Contract | undefined): Contract | undefined {
    const { id } = last?.spec.terms ?? {};
    const copies = this.contractsOf(peering);
    return copies.some((copy) => !isSigned(copy) && copy.spec.terms.supersedes === id) ? last : undefined;
  }

  /** What was asked for is asked for in the same words: by others the provider's answer, which is in force there, would be refused. */
  async #agreeAnew(wish: Wish, supersedes: Contract | undefined) {
    const { negotiation } = this.#options;
    if (supersedes === undefined) return await negotiation.agree(wish);
    try {
      return await negotiation.agree({ ...wish, supersedes });
    } catch (error) {
      if (!isRefusal(error, "ContractEnded", "ContractUnknown")) throw error;
      return await negotiation.agree(wish);
    }
  }

  async #goOn(peering: Peering, current: Contract, site: RemoteSite, signal: AbortSignal): Promise<Agreed> {
    const { home, contracts, negotiation } = this.#options;
    const { terms } = current.spec;
    const { renewable, ends } = lifetimeOf(current);
    const now = home.clock.now();
    const due = now >= renewable;
    const target = targetOf(peering, current);
    const resize = target.size > 0 && !sameAmounts(target, amountsOf(terms.resources));
    if (due && !peering.spec.renew) contracts.noteExpiring(terms.id, "NotRenewed");
    if (!(due && peering.spec.renew) && !resize) return this.#active(peering, current);
    try {
      const resources = formatAmounts(target.size > 0 ? target : amountsOf(terms.resources));
      const wish = { peering, site, resources, supersedes: current, previous: terms.id, signal };
      const { contract, report } = await negotiation.agree(wish);
      return this.#active(peering, contract, report);
    } catch (error) {
      const failed = refused(error, peering.spec.site);
      if (due) contracts.noteExpiring(terms.id, failed.stranger ? "RenewalRefused" : expiringReason(error));
      const message = `${terms.id} is in force; ${due ? "its renewal" : "other amounts"}: ${failed.answer.message}`;
      const { againMs } = this.#active(peering, current);
      const soon = Math.min(
        failed.againMs ?? REFUSED_AGAIN_MS,
        Math.max(500, (ends - now) / 10),
        againMs ?? Number.MAX_VALUE,
      );
      return { answer: { reason: "ContractActive", message }, contract: current, newest: terms.id, againMs: soon };
    }
  }

  /** A contract that either owner has ended stays so, until the wish itself changes; one that ran out is made anew. */
  #isOver(peering: Peering, last: Contract | undefined): Answer<"Agreed"> | undefined {
    const { home } = this.#options;
    const said = getCondition(peering.status?.conditions, "Agreed");
    const isNews = said?.observedGeneration !== peering.metadata.generation;
    if (said?.reason === "ContractEnded" && !isNews) return { reason: "ContractEnded", message: said.message };
    const end = last && endOf(last, "Consumer", home.clock.now());
    if (end === undefined || last === undefined || said === undefined || said.reason === "ContractEnded")
      return undefined;
    if (end === "Superseded" || (end === "Expired" && peering.spec.renew)) return undefined;
    const message = `${last.spec.terms.id} is over (${end}); fjord peer asks again, and so does any change of the Peering's spec`;
    return { reason: "ContractEnded", message };
  }

  #active(peering: Peering, contract: Contract, report?: ContractReport): Agreed {
    const { terms } = contract.spec;
    const notes = notesOn(peering, contract, report);
    const { renewable, ends } = lifetimeOf(contract);
    const now = this.#options.home.clock.now();
    const againMs = Math.max(1, (now < renewable ? renewable : ends) - now);
    return {
      answer: {
        reason: "ContractActive",
        message: notes === "" ? `${terms.id} until ${terms.notAfter}` : `${terms.id} is in force; ${notes}`,
      },
      contract,
      newest: terms.id,
      againMs,
      ...(report && { report }),
    };
  }
}

/** What the Peering wants, as far as the provider's owner is willing to give it; nothing of what is down to nothing. */
function targetOf(peering: Peering, current: Contract): Amounts {
  const limit = amountsOf(current.status?.peerLimit ?? {});
  return new Map([...atMost(amountsOf(peering.spec.resources), limit)].filter(([, amount]) => amount > 0n));
}

/** What its owner may wonder about a contract in force. */
function notesOn({ spec }: Peering, { spec: { terms }, status }: Contract, report?: ContractReport): string {
  const wanted = amountsOf(spec.resources);
  const given = atMost(wanted, amountsOf(report?.limit ?? status?.peerLimit ?? {}));
  const [asked, left] = [formatAmounts(wanted), formatAmounts(given)];
  const limited = Object.keys(asked).filter((name) => asked[name] !== left[name]);
  return [
    ...(limited.length > 0
      ? [`limited by its provider: ${limited.map((name) => `${name} ${left[name]} of ${asked[name]}`).join(", ")}`]
      : []),
    ...(spec.renew ? [] : [`it ends at ${terms.notAfter}, and is not renewed`]),
  ].join("; ");
}

function expiringReason(error: unknown): "ProviderUnreachable" | "RenewalRefused" {
  return error instanceof ConnectionError ? "ProviderUnreachable" : "RenewalRefused";
}

const refusals = ["NotSharing", "ConsumerRefused", "AmountRefused"] as const;

/** What a refusal means for the Peering. What is no refusal, and no silence, is thrown on. */
function refused(error: unknown, site: string): Agreed {
  if (error instanceof ConnectionError) {
    const message = whyNotDialledIn(error, site) ?? error.message;
    return { answer: { reason: "Asking", message }, againMs: SILENT_AGAIN_MS, silent: true };
  }
  if (error instanceof TermsRefused) {
    return { answer: { reason: "Asking", message: error.message }, againMs: REFUSED_AGAIN_MS };
  }
  if (!(error instanceof PeerRefused)) throw error;
  const { code, message } = error.refusal;
  const known = refusals.find((reason) => reason === code);
  const answer = { reason: known ?? ("Asking" as const), message: known ? message : `${message} (${code})` };
  const stranger = error.statusCode === 401 || (error.statusCode === 403 && known === undefined);
  return { answer: stranger ? { reason: "ConsumerRefused", message } : answer, againMs: REFUSED_AGAIN_MS, stranger };
}
