import type { Contract } from "@fjord/api";
import type { GuestSeen } from "./watchman.ts";

/** For each contract that was ever seen, which one it took the place of. */
export type Predecessors = ReadonlyMap<string, string | undefined>;

export function predecessorOf({ spec }: Contract): readonly [string, string | undefined] {
  return [spec.terms.id, spec.terms.supersedes];
}

/**
 * Why a pod has had another guest after this one, where that is as it must be: the provider's own machinery took the guest
 * away (an eviction, a node that failed), or its contract had ended, and the next was made under another one. Undefined
 * where nothing explains it.
 */
export function reasonOfSuccession(first: GuestSeen, next: GuestSeen, contracts: Predecessors): string | undefined {
  const disrupted = first.pod.status?.conditions?.find(
    ({ type, status }) => type === "DisruptionTarget" && status === "True",
  );
  if (disrupted !== undefined) return `disrupted: ${disrupted.reason}`;
  const [before, after] = [contractOf(first), contractOf(next)];
  if (before === undefined || after === undefined || !contracts.has(after)) return undefined;
  for (let id: string | undefined = after; id !== undefined; id = contracts.get(id))
    if (id === before) return undefined;
  return "its contract had ended";
}

function contractOf({ pod }: GuestSeen): string | undefined {
  return pod.metadata.annotations?.["fjord.dev/contract"];
}

/** How the guests of one pod followed on each other, for whoever has to find out why. */
export function describeSuccession(guests: readonly GuestSeen[]): string {
  return guests.map(describeGuest).join("; then ");
}

function describeGuest(guest: GuestSeen): string {
  const { site, pod, from, until } = guest;
  const { metadata, status, spec } = pod;
  return [
    `${metadata.uid} at ${site} on ${spec?.nodeName} from ${clock(from)} until ${until === undefined ? "now" : clock(until)}`,
    `shadow ${metadata.annotations?.["fjord.dev/shadow-uid"]}, contract ${contractOf(guest)}`,
    `${status?.phase} ${status?.reason ?? ""}, deleted at ${metadata.deletionTimestamp ?? "no time"}`,
  ].join(", ");
}

function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11);
}
