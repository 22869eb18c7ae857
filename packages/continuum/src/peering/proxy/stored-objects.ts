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
  PodDisruptionBudget,
  Secret,
  Service,
} from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
import { askedMeans, SHADOW_PODS, storageOf } from "./asked-means.ts";
import { ephemeralClaims } from "./ephemeral-claims.ts";
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

  /** Claims of volumes, and shadow pods that bring some along, with the bytes that they ask for. */
  async claims(consumer: SiteId): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const namespace of this.#options.namespacesOf(consumer)) {
      const brought = new Map<string, number>();
      await this.#add(ShadowPod, namespace, found, (shadow) => {
        for (const { name, template } of ephemeralClaims(shadow)) brought.set(name, storageOf(template) ?? 0);
        return askedMeans(SHADOW_PODS, shadow, true).storage;
      });
      // What Kubernetes has made for a pod is counted with its shadow pod.
      const size = (claim: PersistentVolumeClaim) =>
        Math.max(0, (storageOf(claim) ?? 0) - (brought.get(claim.metadata.name ?? "") ?? 0));
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
    let next: string | undefined;
    do {
      const page = await this.#options.client.list(kind, { namespace, limit: PAGE, ...(next && { continue: next }) });
      for (const object of page.items) {
        const size = sizeOf(object);
        if (size !== undefined) found.set(storedKey(resource, namespace, object.metadata.name ?? ""), size);
      }
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
