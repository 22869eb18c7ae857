import { ShadowPod, TwinNamespace, tenantNamespace } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  ConfigMap,
  Discovery,
  EndpointSlice,
  Ingress,
  KindNotServed,
  type KubeClient,
  NetworkPolicy,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
} from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { askedMeans, claimedStorage, SHADOW_PODS, storageOf } from "./asked-means.ts";
import { type EphemeralClaim, ephemeralClaimName, ephemeralClaims, shadowClaims } from "./ephemeral-claims.ts";
import type { CustomResource } from "./rules.ts";

/** What consumers may write into twin namespaces, as `rules.ts` has it. */
const TWIN_KINDS: readonly Kind[] = [
  ShadowPod,
  ConfigMap,
  Secret,
  Service,
  PersistentVolumeClaim,
  EndpointSlice,
  Ingress,
  NetworkPolicy,
  PodDisruptionBudget,
];
/** Objects of a page: each may have a megabyte or more, and while they are read the agent does nothing else. */
const PAGE = 20;

export interface StoredObjectsOptions {
  readonly client: KubeClient;
  readonly namespacesOf: (consumer: SiteId) => readonly string[];
  readonly customResources: () => readonly CustomResource[];
}

/** How an object is called where it is counted. */
export function storedKey(resource: string, namespace: string, name: string): string {
  return `${resource}/${namespace}/${name}`;
}

/** How a volume that comes with a pod is called there. */
export function broughtKey(namespace: string, pod: string, volume: string): string {
  return storedKey(SHADOW_PODS, namespace, ephemeralClaimName(pod, volume));
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? "";
}

function resourceOf({ group, plural }: Kind): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** Counts what a tenant has in the API, with the agent's own rights and by namespace: labels are the consumer's to leave out. */
export class StoredObjects {
  readonly #options: StoredObjectsOptions;
  readonly #discovery: Discovery;

  constructor(options: StoredObjectsOptions) {
    this.#options = options;
    this.#discovery = new Discovery(options.client);
  }

  /** Of all kinds, or of those whose name, as `Role` rules give it, is wanted. */
  async twins(consumer: SiteId, wanted: (resource: string) => boolean = () => true): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const kinds = [...TWIN_KINDS, ...(await this.#customKinds())].filter((kind) => wanted(resourceOf(kind)));
    for (const namespace of this.#options.namespacesOf(consumer))
      for (const kind of kinds) await this.#add(kind, namespace, found);
    return found;
  }

  /**
   * Claims of volumes, and volumes that come with pods, with the bytes that they ask for. A pod that runs has those that it was made with,
   * whatever its shadow pod says now, and also where these are yet to be made.
   */
  async claims(consumer: SiteId): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const namespace of this.#options.namespacesOf(consumer)) {
      const bring = (object: KubeObject, claims: readonly EphemeralClaim[]) => {
        for (const { volume, template } of claims) {
          const key = broughtKey(namespace, nameOf(object), volume);
          found.set(key, Math.max(found.get(key) ?? 0, storageOf(template) ?? 0));
        }
      };
      // What becomes of what is looked at after it, so that nothing passes between.
      await this.#each(ShadowPod, namespace, (shadow) => bring(shadow, shadowClaims(shadow)));
      await this.#each(Pod, namespace, (pod) => bring(pod, ephemeralClaims(pod)));
      // What Kubernetes has made for a pod is counted with the pod.
      const size = (claim: PersistentVolumeClaim) =>
        Math.max(0, claimedStorage(claim) - (found.get(storedKey(SHADOW_PODS, namespace, nameOf(claim))) ?? 0));
      await this.#add(PersistentVolumeClaim, namespace, found, size);
    }
    return found;
  }

  /** Services that have ports of nodes, or a load balancer, with how many ports they have. */
  async exposedServices(consumer: SiteId): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const size = (service: Service) => {
      const { exposed, ports = 0 } = askedMeans("services", service, true);
      return exposed ? ports : undefined;
    };
    for (const namespace of this.#options.namespacesOf(consumer)) await this.#add(Service, namespace, found, size);
    return found;
  }

  async twinNamespaces(consumer: SiteId): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    await this.#add(TwinNamespace, tenantNamespace(consumer), found);
    return found;
  }

  /** With the size that each has; what has none is left out. */
  async #add<T extends KubeObject>(
    kind: Kind<T>,
    namespace: string,
    found: Map<string, number>,
    sizeOf: (object: T) => number | undefined = (object) => JSON.stringify(object).length,
  ): Promise<void> {
    const resource = resourceOf(kind);
    await this.#each(kind, namespace, (object) => {
      const size = sizeOf(object);
      if (size !== undefined) found.set(storedKey(resource, namespace, nameOf(object)), size);
    });
  }

  async #each<T extends KubeObject>(kind: Kind<T>, namespace: string, see: (object: T) => void): Promise<void> {
    let next: string | undefined;
    do {
      const page = await this.#options.client.list(kind, { namespace, limit: PAGE, ...(next && { continue: next }) });
      for (const object of page.items) see(object);
      next = page.metadata.continue;
    } while (next);
  }

  async #customKinds(): Promise<Kind[]> {
    const kinds: Kind[] = [];
    for (const { group, resource } of this.#options.customResources()) {
      try {
        kinds.push((await this.#discovery.resource(`${resource}.${group}`)).kind);
      } catch (error) {
        // Listed, and not there: nobody has any.
        if (!(error instanceof KindNotServed)) throw error;
      }
    }
    return kinds;
  }
}
