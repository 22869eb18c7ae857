import { keptObjects, type Site } from "@fjord/api";
import type { Clock, Logger } from "@fjord/base";
import { inUnits, parseQuantity } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { type KeptLimits, KeptObjects, type Settle } from "./kept-objects.ts";
import { type KubePath, resourceName } from "./kube-path.ts";
import type { Verb } from "./rules.ts";
import { type StoredObjects, storedKey } from "./stored-objects.ts";

/** What one consumer may keep in the own API, as the owner's policy has it. */
export interface ObjectPolicy extends KeptLimits {
  readonly namespaces: number;
}

export function objectPolicy(own: Site | undefined): ObjectPolicy {
  const { count, bytes, namespaces } = { ...keptObjects, ...own?.spec.sharing?.objects };
  return { objects: count, bytes: inUnits(parseQuantity(bytes)), namespaces };
}

export interface TenantObjectsOptions {
  readonly policy: () => ObjectPolicy;
  readonly stored: Pick<StoredObjects, "twins" | "twinNamespaces">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface StoringWrite {
  readonly consumer: SiteId;
  readonly verb: Verb;
  readonly path: KubePath;
  /** Of the object that is written. */
  readonly name: string;
  /** Of the body. */
  readonly bytes: number;
}

/** What each tenant keeps: objects in its twin namespaces, and requests for these. */
export class TenantObjects {
  readonly #options: TenantObjectsOptions;
  readonly #tenants = new Map<SiteId, { readonly twins: KeptObjects; readonly namespaces: KeptObjects }>();

  constructor(options: TenantObjectsOptions) {
    this.#options = options;
  }

  /** Takes room for a write, until it is told what has become of it. Throws `KubeRefusal` where there is none. */
  admit({ consumer, verb, path, name, bytes }: StoringWrite): Settle | Promise<Settle> {
    const { twins, namespaces } = this.#of(consumer);
    const resource = resourceName({ ...path, subresource: undefined });
    const kept = resource === "twinnamespaces.fjord.dev" ? namespaces : twins;
    const key = storedKey(resource, path.namespace ?? "", name);
    return verb === "delete" ? kept.settleDeletion(key) : kept.admit(key, verb !== "patch", bytes);
  }

  forget(consumer: SiteId): void {
    this.#tenants.delete(consumer);
  }

  #of(consumer: SiteId) {
    const known = this.#tenants.get(consumer);
    if (known !== undefined) return known;
    const { policy, stored, clock, logger } = this.#options;
    const made = {
      twins: new KeptObjects({
        noun: "objects in its twin namespaces",
        limits: policy,
        count: () => stored.twins(consumer),
        clock,
        logger,
      }),
      namespaces: new KeptObjects({
        noun: "twin namespaces",
        limits: () => ({ ...policy(), objects: policy().namespaces }),
        count: () => stored.twinNamespaces(consumer),
        clock,
        logger,
      }),
    };
    this.#tenants.set(consumer, made);
    return made;
  }
}
