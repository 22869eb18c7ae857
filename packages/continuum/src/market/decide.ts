import type { Site } from "@fjord/api";
import type { Refusal, Resources } from "../protocol.ts";
import type { SiteId } from "../site-identity.ts";
import {
  type Amounts,
  amountsOf,
  atMost,
  covers,
  describeAmounts,
  formatAmounts,
  larger,
  minus,
  plus,
} from "./amounts.ts";
import { lineOf } from "./contract-id.ts";

/** What the owner of a site shares, and with whom. */
export type Sharing = NonNullable<Site["spec"]["sharing"]>;

/** A contract, or a proposal that is still held, as far as it takes from what is shared. */
export interface Promised {
  readonly id: string;
  readonly consumer: SiteId;
  readonly resources: Resources;
  /** What the provider's owner is willing to give from now on. */
  readonly limit?: Resources;
  /** The provider's owner has cordoned or drained it. @default false */
  readonly closed?: boolean;
  /** Not signed yet: it takes from what is shared, and says nothing of what the provider's owner wants. @default false */
  readonly proposed?: boolean;
}

export interface Question {
  readonly sharing: Sharing | undefined;
  /** All that is promised now. */
  readonly promises: readonly Promised[];
  readonly consumer: SiteId;
  readonly resources: Resources;
  /** The promise that the new one is to take the place of. */
  readonly supersedes?: Promised;
  /** The provider's owner had closed a contract of the consumer that is over, and has not opened it since. @default false */
  readonly closedStill?: boolean;
}

export type Decision = { readonly granted: true } | { readonly granted: false; readonly refusal: Refusal };

/** Whether a provider grants a request; in words that mean the same at both sites, as it is the other that reads them. Pure: whoever asks has to see to it that nothing changes until it is written. */
export function decide(question: Question): Decision {
  const { sharing, consumer } = question;
  if (sharing === undefined) return refuse("NotSharing", "the provider shares nothing");
  if (!accepts(sharing, consumer)) return refuse("ConsumerRefused", `the provider gives no contracts to ${consumer}`);
  if (isClosedTo(question)) {
    const until = "until `fjord uncordon` there opens them";
    return refuse(
      "ConsumerRefused",
      `the provider has closed its contracts with ${consumer}, and gives no other ${until}`,
    );
  }
  const wanted = amountsOf(question.resources);
  const available = availableFor(question);
  const nothing = [...wanted].filter(([, amount]) => amount <= 0n).map(([name]) => name);
  if (wanted.size === 0) return refuseAmount("no amounts are asked for", available);
  if (nothing.length > 0)
    return refuseAmount(`nothing of ${nothing.join(", ")} is asked for: take it out of the resources`, available);
  const shared = amountsOf(sharing.resources);
  const unknown = [...wanted.keys()].filter((name) => !shared.has(name));
  if (unknown.length > 0) return refuseAmount(`${unknown.join(", ")} is not shared by the provider`, available);
  if (!covers(available, wanted)) {
    return refuseAmount(`${describeAmounts(wanted)} is more than there is`, available);
  }
  return { granted: true };
}

/** Whether the policy lets the consumer ask at all. */
export function accepts(sharing: Sharing, consumer: SiteId): boolean {
  return sharing.consumers.accept !== "Listed" || (sharing.consumers.sites ?? []).includes(consumer);
}

/**
 * Whether the provider's owner has closed all that a consumer has, or had last. A cordon would mean little if whoever it is for could ask for another
 * contract, beside it or after its end. One that takes another's place inherits its standing.
 */
export function isClosedTo({
  promises,
  consumer,
  supersedes,
  closedStill = false,
}: Pick<Question, "promises" | "consumer" | "supersedes" | "closedStill">): boolean {
  if (supersedes !== undefined) return false;
  const own = promises.filter((each) => each.consumer === consumer && each.proposed !== true);
  return own.length === 0 ? closedStill : own.every(({ closed }) => closed);
}

/**
 * The most that a new promise to the consumer may be: what is shared, less what other lines have, within the limits for one
 * consumer and, for a promise that takes another's place, within what the owner set for that one.
 */
function availableFor({
  sharing,
  promises,
  consumer,
  supersedes,
}: Question & { sharing?: Sharing | undefined }): Amounts {
  if (sharing === undefined) return new Map();
  const line = supersedes && lineOf(supersedes.id);
  const others = promises.filter(({ id }) => lineOf(id) !== line);
  const ofAll = minus(amountsOf(sharing.resources), promised(others));
  const own = promised(others.filter((each) => each.consumer === consumer));
  const perConsumer = amountsOf(sharing.perConsumer ?? {});
  const left = new Map(
    [...perConsumer].map(([name, limit]) => [name, minus(new Map([[name, limit]]), own).get(name) ?? 0n]),
  );
  const limit = amountsOf(supersedes?.limit ?? {});
  return onlyNamed(atMost(atMost(ofAll, left), limit), sharing.resources);
}

/** The sum over lines: while a contract and the one that takes its place both stand, the larger of the two counts. */
export function promised(promises: readonly Promised[]): Amounts {
  const lines = new Map<string, Amounts>();
  for (const { id, resources } of promises) {
    const line = lineOf(id);
    lines.set(line, larger(lines.get(line) ?? new Map(), amountsOf(resources)));
  }
  return [...lines.values()].reduce(plus, new Map());
}

/** What is shared and not promised yet. */
export function freeOf(sharing: Sharing, promises: readonly Promised[]): Amounts {
  return onlyNamed(minus(amountsOf(sharing.resources), promised(promises)), sharing.resources);
}

function onlyNamed(amounts: Amounts, names: Resources): Amounts {
  return new Map([...amounts].filter(([name]) => name in names));
}

function refuse(code: string, message: string): Decision {
  return { granted: false, refusal: { code, message } };
}

function refuseAmount(problem: string, available: Amounts): Decision {
  const message = `${problem}; available: ${describeAmounts(available)}`;
  return { granted: false, refusal: { code: "AmountRefused", message, available: formatAmounts(available) } };
}
