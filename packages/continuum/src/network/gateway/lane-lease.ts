import type { Clock } from "@fjord/base";
import type { Lease } from "@fjord/kube";
import type { LaneShares } from "./lane-shares.ts";

/** Where the shares stand in the Lease. Its holder is who carries the first lane, so that earlier versions wait for that one as for theirs. */
const SHARES = "fjord.dev/lanes";

export type SharesLease = Lease;

export function holderOf(lease: SharesLease | undefined): string {
  return lease?.spec?.holderIdentity ?? "";
}

/** What a Lease says. Where its holder is not whom the shares have for the first lane, one of an earlier version has taken it since, and with it all lanes. */
export function sharesOf(lease: SharesLease | undefined, count: number): LaneShares {
  const holder = holderOf(lease);
  const written = parsed(lease?.metadata.annotations?.[SHARES]);
  if (written !== undefined && (written.lanes[0] ?? "") === holder) return written;
  return { lanes: Array.from({ length: count }, () => holder), beats: {} };
}

export function leaseWith(lease: SharesLease, shares: LaneShares, clock: Pick<Clock, "now">): SharesLease {
  const { holderIdentity: before, ...spec } = lease.spec ?? {};
  const [holder = ""] = shares.lanes;
  const time = new Date(clock.now()).toISOString().replace("Z", "000Z");
  const isSame = before === holder;
  return {
    ...lease,
    metadata: {
      ...lease.metadata,
      annotations: { ...lease.metadata.annotations, [SHARES]: JSON.stringify(shares) },
    },
    spec: {
      ...spec,
      ...(holder !== "" && { holderIdentity: holder }),
      leaseDurationSeconds: 2,
      acquireTime: isSame ? (spec.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: (spec.leaseTransitions ?? 0) + (isSame ? 0 : 1),
    },
  };
}

/** Undefined where it is not what this version writes. */
function parsed(text: string | undefined): LaneShares | undefined {
  try {
    const { lanes, beats } = JSON.parse(text ?? "") as Partial<LaneShares>;
    const isGood =
      Array.isArray(lanes) &&
      lanes.every((run) => typeof run === "string") &&
      typeof beats === "object" &&
      Object.values(beats ?? {}).every((beat) => Number.isInteger(beat));
    return isGood && beats !== null ? { lanes, beats: beats ?? {} } : undefined;
  } catch {
    return undefined;
  }
}
