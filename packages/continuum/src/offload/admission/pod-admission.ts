import { OFFLOADING_NAME, Offloading } from "@fjord/api";
import type { Cache, Pod, SharedCaches } from "@fjord/kube";
import type { AdmissionRequest, Verdict } from "./admission-review.ts";
import { placementOf } from "./pod-placement.ts";

/** Lets new pods of offloaded namespaces onto virtual nodes. */
export class PodAdmission {
  readonly #offloadings: Cache<Offloading>;

  constructor(caches: SharedCaches) {
    this.#offloadings = caches.open(Offloading).cache;
  }

  review({ namespace = "", object }: AdmissionRequest): Verdict {
    const offloading = this.#offloadings.get({ name: OFFLOADING_NAME, namespace });
    if (offloading === undefined || offloading.metadata.deletionTimestamp !== undefined) return { allowed: true };
    const placement = placementOf(object as Pod, offloading.spec);
    if (placement === undefined) return { allowed: true };
    const patch = Object.entries(placement).map(([field, value]) => ({
      op: "add" as const,
      path: `/spec/${field}`,
      value,
    }));
    return { allowed: true, patch };
  }
}
