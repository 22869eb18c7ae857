import type { Lease } from "../kinds/coordination.ts";

export type LeaseSpec = NonNullable<Lease["spec"]>;

/** What a candidate does about the lease as it is. */
export type LeaseMove = "create" | "take" | "renew" | "wait";

/**
 * `expired` is the candidate's own finding: the lease has not changed for its whole duration while the candidate
 * watched. The times written in it are for people; clocks differ.
 */
export function leaseMove(lease: Lease | undefined, identity: string, expired: boolean): LeaseMove {
  if (lease === undefined) return "create";
  const holder = lease.spec?.holderIdentity ?? "";
  if (holder === identity) return "renew";
  return holder === "" || expired ? "take" : "wait";
}

export interface LeaseClaim {
  identity: string;
  durationMs: number;
  now: number;
}

/** The lease with the claim's holder in it; what others keep there stays. */
export function claimedSpec(spec: LeaseSpec | undefined, { identity, durationMs, now }: LeaseClaim): LeaseSpec {
  const renews = spec?.holderIdentity === identity;
  const time = microTime(now);
  return {
    ...spec,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: renews ? (spec.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: spec === undefined ? 0 : (spec.leaseTransitions ?? 0) + (renews ? 0 : 1),
  };
}

/** The lease free for anyone at once. */
export function releasedSpec({ holderIdentity: _, ...spec }: LeaseSpec, now: number): LeaseSpec {
  return { ...spec, leaseDurationSeconds: 1, renewTime: microTime(now) };
}

/** What a holder changes by every renewal: two leases with the same pulse are one and the same claim. */
export function leasePulse({ spec }: Lease): string {
  return JSON.stringify([spec?.holderIdentity, spec?.renewTime, spec?.acquireTime, spec?.leaseTransitions]);
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
