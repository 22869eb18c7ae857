import { createHash } from "node:crypto";
import type { SiteId } from "../site-identity.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** 16 characters of base32: 80 bits of the hash of all parts, each of which keeps its bounds. */
function digest(...parts: string[]): string {
  const bytes = createHash("sha256").update(JSON.stringify(parts)).digest();
  return Array.from({ length: 16 }, (_, index) => ALPHABET[(bytes[index] ?? 0) & 31]).join("");
}

/**
 * The id that the answer to a request has, whenever it is asked: `c-REQUEST`, or `c-LINE-REQUEST` where it takes the place
 * of another. The line is in the name so that whoever knows an old contract finds the newest without the ones between.
 */
export function contractId(consumer: SiteId, requestId: string, supersedes?: string): string {
  const request = digest(consumer, requestId);
  return supersedes === undefined ? `c-${request}` : `${lineOf(supersedes)}-${request}`;
}

/** What all contracts share that supersede one another: the id of the first. */
export function lineOf(id: string): string {
  return id.split("-", 2).join("-");
}

/** Whether the contract is the answer to that request, whatever it supersedes. */
export function answers(id: string, consumer: SiteId, requestId: string): boolean {
  return id.endsWith(`-${digest(consumer, requestId)}`);
}

/**
 * What a consumer calls its request: the same after a crash, another once the contract before it is another or other
 * amounts are wanted. `attempt` counts requests whose contract has ended meanwhile.
 */
export function requestIdFor(peeringUid: string, previous: string, amounts: string, attempt: number): string {
  return `r-${digest(peeringUid, previous, amounts, String(attempt))}`;
}
