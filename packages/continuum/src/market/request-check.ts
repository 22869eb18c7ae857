import { isCounted, isWhole } from "@fjord/api";
import { parseQuantity } from "@fjord/kube";
import { PeerRefused } from "../peer-refused-error.ts";
import type { ContractAcceptance, ContractRequest, Resources, Standing, StandingChange } from "../protocol.ts";

const resourceName = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const contractName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const standings: readonly Standing[] = ["Open", "Cordoned", "Drained", "Ended"];
const MOST_RESOURCES = 12;

/** A request as it must be; whatever else a peer sends is refused. */
export function checkedRequest(body: unknown): ContractRequest {
  const { requestId, resources, supersedes } = fieldsOf(body);
  if (typeof requestId !== "string" || !/^[-\w.]{1,128}$/.test(requestId)) throw malformed("requestId");
  if (supersedes !== undefined && (typeof supersedes !== "string" || !contractName.test(supersedes))) {
    throw malformed("supersedes");
  }
  return { requestId, resources: agreeable(resources), ...(supersedes !== undefined && { supersedes }) };
}

export function checkedAcceptance(body: unknown): ContractAcceptance {
  const { signature } = fieldsOf(body);
  if (typeof signature !== "string" || !/^[A-Za-z0-9+/]{86}==$/.test(signature)) throw malformed("signature");
  return { signature };
}

export function checkedStanding(body: unknown): StandingChange {
  const { standing } = fieldsOf(body);
  const known = standings.find((each) => each === standing);
  if (known === undefined) throw malformed("standing");
  return { standing: known };
}

/** Amounts that a peer names, if they are amounts and not too many. */
export function checkedResources(value: unknown): Resources {
  const entries = Object.entries(fieldsOf(value));
  if (entries.length > MOST_RESOURCES) throw malformed("resources");
  for (const [name, amount] of entries) {
    if (name.length > 317 || !resourceName.test(name) || !isAmount(amount)) throw malformed("resources");
  }
  return Object.fromEntries(entries) as Resources;
}

/** Amounts that a contract may be about: of what is counted, a node can have no part. */
export function agreeable(value: unknown): Resources {
  const resources = checkedResources(value);
  const broken = Object.entries(resources).find(([name, amount]) => isCounted(name) && !isWhole(amount));
  if (broken === undefined) return resources;
  throw new PeerRefused({ code: "Malformed", message: `${broken[0]} must be a whole number, not ${broken[1]}` }, 400);
}

function isAmount(value: unknown): value is string | number {
  if (typeof value !== "string" && typeof value !== "number") return false;
  // Nobody has so much that its exponent has three digits, and reading it would take long.
  if (String(value).length > 32 || /e[+-]?\d{3}/i.test(String(value))) return false;
  try {
    return parseQuantity(value) >= 0n;
  } catch {
    // No quantity: whoever sent it is told which field is wrong.
    return false;
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed("body");
  return value as Record<string, unknown>;
}

function malformed(field: string): PeerRefused {
  return new PeerRefused({ code: "Malformed", message: `${field} is missing or not what it must be` }, 400);
}
