import { keptObjects, type Site } from "@fjord/api";
import type { Clock, Logger } from "@fjord/base";
import { inUnits, parseQuantity } from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { type AskedMeans, SHADOW_PODS } from "./asked-means.ts";
import { type KeptLimits, KeptObjects, type KeptObjectsOptions, type Settle } from "./kept-objects.ts";
import { type KubePath, resourceName } from "./kube-path.ts";
import type { Verb } from "./rules.ts";
import { broughtKey, type StoredObjects, storedKey } from "./stored-objects.ts";

/** What one consumer may keep in the own API, as the owner's policy has it. */
export interface ObjectPolicy extends KeptLimits {
  readonly namespaces: number;
  /** Bytes of volumes that its claims ask for. */
  readonly storage: number;
  /** Services with ports of nodes, or a load balancer. */
  readonly exposedServices: number;
  /** Of these together. */
  readonly exposedPorts: number;
}

export function objectPolicy(own: Site | undefined): ObjectPolicy {
  const { count, bytes, namespaces, storage, exposedServices, exposedPorts } = {
    ...keptObjects,
    ...own?.spec.sharing?.objects,
  };
  return {
    objects: count,
    bytes: inUnits(parseQuantity(bytes)),
    namespaces,
    storage: inUnits(parseQuantity(storage)),
    exposedServices,
    exposedPorts,
  };
}

export interface TenantObjectsOptions {
  readonly policy: () => ObjectPolicy;
  readonly stored: Pick<StoredObjects, "twins" | "twinNamespaces" | "claims" | "exposedServices">;
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
  readonly asks: AskedMeans;
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
  /** Claims, and volumes that come with pods, by the bytes that they ask for. */
  readonly storage: KeptObjects;
  /** Services with ports of nodes, by how many they have. */
  readonly exposed: KeptObjects;
}

type Admit = () => Settle | Promise<Settle>;

/** What each tenant keeps: objects in its twin namespaces, and requests for these. */
export class TenantObjects {
  readonly #options: TenantObjectsOptions;
  readonly #tenants = new Map<SiteId, Kept>();

  constructor(options: TenantObjectsOptions) {
    this.#options = options;
  }

  /** Takes room for a write, until it is told what has become of it. Throws `KubeRefusal` where there is none. */
  admit(write: StoringWrite): Settle | Promise<Settle> {
    const { consumer, verb, path, name, bytes } = write;
    const kept = this.#of(consumer);
    const resource = resourceName({ ...path, subresource: undefined });
    const key = storedKey(resource, path.namespace ?? "", name);
    const admit = (objects: KeptObjects) => () =>
      verb === "delete"
        ? objects.settleDeletion(key)
        : objects.admit(key, verb === "patch" ? "adds" : "replaces", bytes);
    if (resource === "twinnamespaces.fjord.dev") return admit(kept.namespaces)();
    return admitAll([
      admit(kept.twins),
      ...(ONLY_STORED.includes(resource) ? [] : [admit(kept.held)]),
      ...meansOf(write, resource, key, kept),
    ]);
  }

  forget(consumer: SiteId): void {
    this.#tenants.delete(consumer);
  }

  #of(consumer: SiteId) {
    const known = this.#tenants.get(consumer);
    if (known !== undefined) return known;
    const { policy, stored, clock, logger } = this.#options;
    const objects = (
      words: KeptObjectsOptions["words"],
      limits: () => KeptLimits,
      count: () => Promise<Map<string, number>>,
    ) => new KeptObjects({ words, limits, count, clock, logger });
    const made = {
      twins: objects(inAll("objects in its twin namespaces"), policy, () => stored.twins(consumer)),
      held: objects(
        inAll("objects in its twin namespaces beside ConfigMaps and Secrets"),
        () => ({ ...policy(), bytes: policy().bytes / HELD_PART }),
        () => stored.twins(consumer, (resource) => !ONLY_STORED.includes(resource)),
      ),
      namespaces: objects(
        inAll("twin namespaces"),
        () => ({ objects: policy().namespaces, bytes: policy().bytes / NAMESPACES_PART }),
        () => stored.twinNamespaces(consumer),
      ),
      storage: objects(
        (has, may) =>
          `${has.objects} claims of ${mebibytes(has.bytes)} at the provider, and may have ${mebibytes(may.bytes)} by at most ${may.objects}: ${raise("storage or count")}`,
        // Names of volumes cost nothing, and are remembered until a count.
        () => ({ objects: policy().objects, bytes: policy().storage }),
        () => stored.claims(consumer),
      ),
      exposed: objects(
        (has, may) =>
          `${has.objects} Services of type NodePort or LoadBalancer at the provider with ${has.bytes} ports of at most ${may.bytes}, and may have ${may.objects}: ${raise("exposedServices or exposedPorts")}`,
        () => ({ objects: policy().exposedServices, bytes: policy().exposedPorts }),
        () => stored.exposedServices(consumer),
      ),
    };
    this.#tenants.set(consumer, made);
    return made;
  }
}

/** What a write takes or gives back of the provider's means. */
function meansOf(write: StoringWrite, resource: string, key: string, { storage, exposed }: Kept): Admit[] {
  if (resource === SHADOW_PODS) return volumesOf(write, storage);
  const { verb, asks } = write;
  const objects = resource === "persistentvolumeclaims" ? storage : resource === "services" ? exposed : undefined;
  if (objects === undefined) return [];
  if (verb === "delete") return [() => objects.settleDeletion(key)];
  const amount = objects === storage ? asks.storage : asks.exposed ? (asks.ports ?? 0) : undefined;
  // A claim may ask for less again after its volume has grown.
  const change = objects === storage ? "raises" : "replaces";
  if (amount !== undefined) return [() => keeping(objects.admit(key, change, amount), amount)];
  return asks.exposed === false ? [() => releasing(objects.settleDeletion(key))] : [];
}

/**
 * Volumes that come with a pod go with it, which may be long after its shadow pod was deleted, made anew or changed so that it has others: a
 * count finds out.
 */
function volumesOf({ verb, path: { namespace = "" }, name, asks }: StoringWrite, storage: KeptObjects): Admit[] {
  if (verb === "delete") return [];
  return (asks.volumes ?? []).map((volume) => {
    const key = broughtKey(namespace, name, volume.name);
    return () => keeping(storage.admit(key, "raises", volume.bytes), volume.bytes);
  });
}

/** What is kept of it is what was asked for, however long the answer is. */
function keeping(settle: Settle | Promise<Settle>, amount: number): Settle | Promise<Settle> {
  if (settle instanceof Promise) return settle.then((each) => keeping(each, amount));
  return (outcome) => settle(typeof outcome === "object" ? { kept: amount } : outcome);
}

/** Whose write succeeds has it no more. */
function releasing(settle: Settle): Settle {
  return (outcome) => settle(typeof outcome === "object" ? "gone" : outcome);
}

function inAll(noun: string): KeptObjectsOptions["words"] {
  return (has, may) =>
    `${has.objects} ${noun} at the provider, ${mebibytes(has.bytes)} in all, and may have ${may.objects} and ${mebibytes(may.bytes)}: ${raise()}`;
}

function raise(field?: string): string {
  return `remove some, or ask the owner to raise sharing.objects${field === undefined ? "" : `.${field}`} of the Site`;
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)}Mi`;
}

/** One after the other; what the earlier have taken goes back where a later one has no room. */
async function admitAll(admits: readonly Admit[]): Promise<Settle> {
  const settles: Settle[] = [];
  try {
    for (const admit of admits) {
      const settle = admit();
      // Who has room at once waits for nobody.
      settles.push(settle instanceof Promise ? await settle : settle);
    }
  } catch (error) {
    for (const settle of settles) settle("undone");
    throw error;
  }
  return (outcome) => settles.map((settle) => settle(outcome))[0] ?? 0;
}
