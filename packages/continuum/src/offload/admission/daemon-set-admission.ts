import type { DaemonSet } from "@fjord/kube";
import type { AdmissionRequest, Verdict } from "./admission-review.ts";
import { daemonAffinity } from "./daemon-placement.ts";

/** Keeps DaemonSets that tolerate everything off virtual nodes. */
export function reviewDaemonSet({ object }: AdmissionRequest): Verdict {
  const affinity = daemonAffinity(object as DaemonSet);
  if (affinity === undefined) return { allowed: true };
  return { allowed: true, patch: [{ op: "add", path: "/spec/template/spec/affinity", value: affinity }] };
}
