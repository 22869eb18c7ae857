import { AGENT_NAME } from "@fjord/agent";
import { AGENT_NAMESPACE } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  ClusterRoleBinding,
  CronJob,
  DaemonSet,
  Deployment,
  ifNotFound,
  Job,
  type KubeClient,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Secret,
  StatefulSet,
} from "@fjord/kube";
import { InstalledElsewhere, NotAgentsNamespace, SharedNamespace } from "../errors.ts";

/** The agent's own: no installation is without it, however it was made. */
const IDENTITY_SECRET = "fjord-identity";

/** A cluster has one agent: its rights, kinds and webhook are the cluster's, and another installation would take them from it. */
export async function refuseElsewhere(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const other = await boundNamespace(client, signal);
  if (other === undefined || other === namespace) return;
  // What is left of one whose namespace was removed by hand holds up nobody.
  if ((await client.get(Namespace, { name: other }, { signal }).catch(ifNotFound)) === undefined) return;
  throw new InstalledElsewhere({ namespace: other, wanted: namespace });
}

/** Before all of a namespace is removed: that it was Fjord's, and not a word that was mistyped. */
export async function refuseForeign(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  await refuseElsewhere(client, namespace, signal);
  if (namespace === AGENT_NAMESPACE || (await boundNamespace(client, signal)) === namespace) return;
  const found = await client.get(Namespace, { name: namespace }, { signal }).catch(ifNotFound);
  if (found === undefined || found.metadata.labels?.["app.kubernetes.io/name"] === "fjord") return;
  const identity = await client.get(Secret, { name: IDENTITY_SECRET, namespace }, { signal }).catch(ifNotFound);
  if (identity === undefined) throw new NotAgentsNamespace({ namespace });
}

/** Before all of a namespace is removed: that nobody has put something of theirs there. */
export async function refuseShared(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const lists = await Promise.all(
    (LOOKED_AT as unknown as readonly Kind<KubeObject>[]).map(async (kind) => {
      const { items } = await client.list(kind, { namespace, signal });
      return items.map(({ metadata }) => ({ kind: kind.kind, metadata }));
    }),
  );
  const others = othersIn(lists.flat());
  if (others.length === 0) return;
  const more = others.length > MOST_NAMED ? `, and ${others.length - MOST_NAMED} more` : "";
  throw new SharedNamespace({ namespace, what: `${others.slice(0, MOST_NAMED).join(", ")}${more}` });
}

const LOOKED_AT = [Deployment, StatefulSet, DaemonSet, CronJob, Job, ReplicaSet, PersistentVolumeClaim, Pod];
const MOST_NAMED = 5;

/** What is none of Fjord's. What one of the objects has made goes with that, and is not named beside it; what anything else controls is. */
function othersIn(objects: readonly Pick<KubeObject, "kind" | "metadata">[]): string[] {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const isMade = ({ ownerReferences }: KubeObject["metadata"]) =>
    ownerReferences?.some(({ controller, uid }) => controller === true && uids.has(uid)) === true;
  return objects
    .filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] !== "fjord" && !isMade(metadata))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

/** Whose account has the agent's rights. */
async function boundNamespace(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const found = await client.get(ClusterRoleBinding, { name: AGENT_NAME }, { signal }).catch(ifNotFound);
  return found?.subjects?.find(({ kind }) => kind === "ServiceAccount")?.namespace;
}
