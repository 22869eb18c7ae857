import { keptObjects, type Site } from "@fjord/api";
import type { Clock, Logger } from "@fjord/base";
import { inUnits, parseQuantity } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { type KeptLimits, KeptObjects, type Outcome, type Settle } from "./kept-objects.ts";
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

/** What the agent itself has no copies of in memory. All else it watches, or some domain of it does. */
const ONLY_STORED = ["configmaps", "secrets"];
/** What of the bytes may be of kinds that the agent holds copies of: a store has room for more than a process. */
const HELD_PART = 2;
/** And of requests for namespaces, which are a few lines each. */
const NAMESPACES_PART = 16;

interface Kept {
  readonly twins: KeptObjects;
  /** Those among the twins that the agent holds copies of. */
  readonly held: KeptObjects;
  readonly namespaces: KeptObjects;
}

/** What each tenant keeps: objects in its twin namespaces, and requests for these. */
export class TenantObjects {
  readonly #options: TenantObjectsOptions;
  readonly #tenants = new Map<SiteId, Kept>();

  constructor(options: TenantObjectsOptions) {
    this.#options = options;
  }

  /** Takes room for a write, until it is told what has become of it. Throws `KubeRefusal` where there is none. */
  admit({ consumer, verb, path, name, bytes }: StoringWrite): Settle | Promise<Settle> {
    const { twins, held, namespaces } = this.#of(consumer);
    const resource = resourceName({ ...path, subresource: undefined });
    const key = storedKey(resource, path.namespace ?? "", name);
    const admit = (kept: KeptObjects) =>
      verb === "delete" ? kept.settleDeletion(key) : kept.admit(key, verb !== "patch", bytes);
    if (resource === "twinnamespaces.fjord.dev") return admit(namespaces);
    const first = admit(twins);
    if (ONLY_STORED.includes(resource)) return first;
    return first instanceof Promise
      ? first.then((settle) => both(settle, () => admit(held)))
      : both(first, () => admit(held));
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
      held: new KeptObjects({
        noun: "objects in its twin namespaces beside ConfigMaps and Secrets",
        limits: () => ({ ...policy(), bytes: policy().bytes / HELD_PART }),
        count: () => stored.twins(consumer, (resource) => !ONLY_STORED.includes(resource)),
        clock,
        logger,
      }),
      namespaces: new KeptObjects({
        noun: "twin namespaces",
        limits: () => ({ objects: policy().namespaces, bytes: policy().bytes / NAMESPACES_PART }),
        count: () => stored.twinNamespaces(consumer),
        clock,
        logger,
      }),
    };
    this.#tenants.set(consumer, made);
    return made;
  }
}

/** The second besides the first; what the first has taken goes back where the second has no room. */
function both(first: Settle, admit: () => Settle | Promise<Settle>): Settle | Promise<Settle> {
  const join =
    (second: Settle): Settle =>
    (outcome: Outcome) => {
      second(outcome);
      return first(outcome);
    };
  const giveBack = (error: unknown): never => {
    first("undone");
    throw error;
  };
  try {
    const second = admit();
    return second instanceof Promise ? second.then(join, giveBack) : join(second);
  } catch (error) {
    return giveBack(error);
  }
}
