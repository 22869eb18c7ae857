import type { Pod } from "@fjord/kube";
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
