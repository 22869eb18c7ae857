import { CONSUMER_LABEL, ShadowPod, type Site, TwinNamespace, tenantNamespace } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  ClusterRole,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeClient,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
} from "@fjord/kube";
import type { SiteId } from "../../identity/site-identity.ts";
import { TenantNamespaceLeaving, TenantNamespaceTaken } from "./errors.ts";
import {
  forgeClusterRole,
  forgeNamespace,
  forgeRole,
  forgeRoleBinding,
  forgeServiceAccount,
  TENANT_LABEL,
} from "./tenant-forge.ts";

const FIELD_MANAGER = "fjord-tenant";

/** Makes what the tenant of a consumer consists of. Two round trips where nothing is there yet. */
export async function makeTenant(
  client: KubeClient,
  consumer: SiteId,
  twins: number,
  signal?: AbortSignal,
): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER, force: true, ...(signal && { signal }) };
  await makeNamespace(client, consumer, signal);
  await Promise.all([
    client.apply(ServiceAccount, forgeServiceAccount(consumer), options),
    client.apply(Role, forgeRole(consumer, twins), options),
    client.apply(RoleBinding, forgeRoleBinding(consumer), options),
  ]);
}

export async function makeClusterRole(client: KubeClient, reflection: Site["spec"]["reflection"]): Promise<void> {
  await client.apply(ClusterRole, forgeClusterRole(reflection), { fieldManager: FIELD_MANAGER, force: true });
}

/**
 * Takes away what a consumer has here, in the order in which nothing can come back: its tenant may do nothing by now.
 * Each part is looked for anew, so that whoever begins again finds what is left.
 */
export async function removeTenant(client: KubeClient, consumer: SiteId, signal: AbortSignal): Promise<void> {
  const labelSelector = `${CONSUMER_LABEL}=${consumer}`;
  const shadowPods = await client.list(ShadowPod, { labelSelector, omitManagedFields: true, signal });
  await removeAll(client, ShadowPod, shadowPods.items, signal);
  const namespace = tenantNamespace(consumer);
  const twins = await client.list(TwinNamespace, { namespace, omitManagedFields: true, signal });
  await removeAll(client, TwinNamespace, twins.items, signal);
  const namespaces = await client.list(Namespace, { labelSelector, signal });
  await removeAll(client, Namespace, namespaces.items, signal);
  const tenants = await client.list(Namespace, { labelSelector: `${TENANT_LABEL}=${consumer}`, signal });
  await removeAll(client, Namespace, tenants.items, signal);
}

async function makeNamespace(client: KubeClient, consumer: SiteId, signal?: AbortSignal): Promise<void> {
  try {
    await client.create(Namespace, forgeNamespace(consumer), {
      fieldManager: FIELD_MANAGER,
      ...(signal && { signal }),
    });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { metadata } = await client.get(Namespace, { name: tenantNamespace(consumer) });
    const namespace = tenantNamespace(consumer);
    if (metadata.labels?.[TENANT_LABEL] !== consumer) throw new TenantNamespaceTaken({ namespace });
    if (metadata.deletionTimestamp !== undefined) throw new TenantNamespaceLeaving({ namespace });
  }
}

/** A handful at a time: a consumer may leave thousands behind, and the API server has other work too. */
const AT_ONCE = 8;

async function removeAll<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  objects: readonly T[],
  signal: AbortSignal,
): Promise<void> {
  const left = objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined).values();
  const worker = async () => {
    for (const { metadata } of left) {
      const { name = "", namespace, uid } = metadata;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      try {
        await client.delete(kind, namespace === undefined ? { name } : { name, namespace }, {
          ...preconditions,
          signal,
        });
      } catch (error) {
        // Gone already, or another of the same name by now: either way this one is no more.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
