import { CONSUMER_LABEL, ShadowPod, type Site, TwinNamespace, tenantNamespace } from "@fjord/api";
import { describeError, type Kind, type KubeObject, type Logger } from "@fjord/base";
import {
  ClusterRole,
  isAlreadyExists,
  isBeingDeleted,
  isConflict,
  isForbidden,
  isNotFound,
  type KubeClient,
  type ListOptions,
  Namespace,
  Role,
  RoleBinding,
  ServiceAccount,
} from "@fjord/kube";
import type { SiteId } from "../../site-identity.ts";
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

/**
 * Makes what the tenant of a consumer consists of, and gives the uid of its namespace. Two round trips where nothing is
 * there yet.
 */
export async function makeTenant(client: KubeClient, consumer: SiteId, signal?: AbortSignal): Promise<string> {
  const options = { fieldManager: FIELD_MANAGER, force: true, ...(signal && { signal }) };
  const uid = await makeNamespace(client, consumer, signal);
  await Promise.all([
    client.apply(ServiceAccount, forgeServiceAccount(consumer), options),
    client.apply(Role, forgeRole(consumer), options),
    client.apply(RoleBinding, forgeRoleBinding(consumer), options),
  ]);
  return uid;
}

/**
 * The role of all tenants. An agent can give only what it has: custom resources that its owner lists, and did not give to
 * the agent itself, are left out rather than that nobody has a tenant.
 */
export async function makeClusterRole(
  client: KubeClient,
  reflection: Site["spec"]["reflection"],
  logger: Logger,
): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER, force: true };
  try {
    await client.apply(ClusterRole, forgeClusterRole(reflection), options);
  } catch (error) {
    if (!isForbidden(error) || (reflection ?? []).length === 0) throw error;
    logger.error("tenants get no custom resources: the agent may not give them", { error: describeError(error) });
    await client.apply(ClusterRole, forgeClusterRole([]), options);
  }
}

/**
 * Takes away what a consumer has here, in the order in which nothing can come back: its tenant may do nothing by now. Each
 * part is looked for anew, so that whoever begins again finds what is left. It stops where the consumer is back.
 */
export async function removeTenant(
  client: KubeClient,
  consumer: SiteId,
  isGone: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const own = `${CONSUMER_LABEL}=${consumer}`;
  const options = { omitManagedFields: true, signal };
  const remove = async <T extends KubeObject>(kind: Kind<T>, which: ListOptions) => {
    if (!isGone()) return;
    const { items } = await client.list(kind, { ...options, ...which });
    if (isGone()) await removeAll(client, kind, items, signal);
  };
  await remove(ShadowPod, { labelSelector: own });
  await remove(TwinNamespace, { namespace: tenantNamespace(consumer) });
  await remove(Namespace, { labelSelector: own });
  await remove(Namespace, { labelSelector: `${TENANT_LABEL}=${consumer}` });
}

async function makeNamespace(client: KubeClient, consumer: SiteId, signal?: AbortSignal): Promise<string> {
  const namespace = tenantNamespace(consumer);
  const options = { fieldManager: FIELD_MANAGER, ...(signal && { signal }) };
  try {
    return uidOf(await client.create(Namespace, forgeNamespace(consumer), options));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get(Namespace, { name: namespace }, options);
    if (found.metadata.labels?.[TENANT_LABEL] !== consumer) throw new TenantNamespaceTaken({ namespace });
    if (isBeingDeleted(found)) throw new TenantNamespaceLeaving({ namespace });
    return uidOf(found);
  }
}

function uidOf({ metadata }: KubeObject): string {
  return metadata.uid ?? "";
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
