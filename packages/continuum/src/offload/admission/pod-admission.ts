import { VIRTUAL_NODE } from "@fjord/api";
import { type Pod, sameContent } from "@fjord/kube";
import type { AdmissionRequest, Verdict } from "./admission-review.ts";
import type { KnownOffloadings } from "./known-offloadings.ts";
import { placementOf } from "./pod-placement.ts";

/** Lets new pods of offloaded namespaces onto virtual nodes. */
export class PodAdmission {
  readonly #known: Pick<KnownOffloadings, "specFor">;

  constructor(known: Pick<KnownOffloadings, "specFor">) {
    this.#known = known;
  }

  async review({ namespace = "", object }: AdmissionRequest): Promise<Verdict> {
    const spec = await this.#known.specFor(namespace);
    const placement = spec && placementOf(object as Pod, spec);
    if (placement === undefined) return { allowed: true };
    const patch = Object.entries(placement).map(([field, value]) => ({
      op: "add" as const,
      path: `/spec/${field}`,
      value,
    }));
    return { allowed: true, patch };
  }
}

/**
 * Gives a pod back the tolerations of admission that its owner, who never wrote them, leaves out in a change: no API server
 * takes a change that takes tolerations away.
 */
export function reviewPlacedPod({ object, oldObject }: AdmissionRequest): Verdict {
  const [before = [], now = []] = [oldObject, object].map((pod) => (pod as Pod | undefined)?.spec?.tolerations ?? []);
  const lost = before.filter((each) => each.key === VIRTUAL_NODE && !now.some((other) => sameContent(each, other)));
  if (lost.length === 0) return { allowed: true };
  return { allowed: true, patch: [{ op: "add", path: "/spec/tolerations", value: [...now, ...lost] }] };
}
