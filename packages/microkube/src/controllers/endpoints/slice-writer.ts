import { type Cache, EndpointSlice, requestFor } from "@fjord/kube";
import type { ControlMeans } from "../control-loop.ts";
import { isNamespaceTerminating, unlessGone } from "../loop.ts";
import { PendingWrites } from "../pending-writes.ts";
import { MANAGED_BY, SERVICE_NAME } from "./endpoint-forge.ts";
import type { SlicePlan } from "./slice-plan.ts";

/** By namespace and name of the service. */
export function byService({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.[SERVICE_NAME];
  return name === undefined ? [] : [`${metadata.namespace}/${name}`];
}

/** Writes slices of one manager, and knows which of its writes the cache does not show yet. */
export class SliceWriter {
  readonly #means: ControlMeans;
  readonly #slices: Cache<EndpointSlice>;
  readonly #manager: string;
  readonly #pending: PendingWrites<EndpointSlice>;

  constructor(means: ControlMeans, slices: Cache<EndpointSlice>, manager: string) {
    this.#means = means;
    this.#slices = slices;
    this.#manager = manager;
    this.#pending = new PendingWrites(means.clock, slices);
  }

  /** `namespace/name` of the service. */
  existing(service: string): EndpointSlice[] {
    return this.#slices.byIndex("service", service).filter((slice) => this.isOwn(slice));
  }

  isOwn({ metadata }: EndpointSlice): boolean {
    return metadata.labels?.[MANAGED_BY] === this.#manager;
  }

  isBehind(service: string): boolean {
    return this.#pending.isBehind(service);
  }

  async write(service: string, plan: SlicePlan, signal: AbortSignal): Promise<void> {
    const { client } = this.#means;
    try {
      for (const slice of plan.create) {
        this.#pending.wrote(service, await client.create(EndpointSlice, slice, { signal }));
      }
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      throw error;
    }
    for (const slice of plan.update) {
      this.#pending.wrote(service, await client.update(EndpointSlice, slice, { signal }));
    }
    for (const slice of plan.delete) {
      const preconditions = { uid: slice.metadata.uid };
      await unlessGone(client.delete(EndpointSlice, requestFor(slice), { preconditions, signal }));
      this.#pending.deleted(service, slice);
    }
  }
}
