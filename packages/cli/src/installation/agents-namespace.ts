import { AGENT_NAME } from "@fjord/agent";
import { AGENT_NAMESPACE } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import {
  ClusterRoleBinding,
  CronJob,
  DaemonSet,
  Deployment,
  ifNotFound,
  type KubeClient,
  Namespace,
  PersistentVolumeClaim,
  Pod,
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
  const kinds = [Deployment, StatefulSet, DaemonSet, CronJob, PersistentVolumeClaim, Pod];
  const lists = await Promise.all(
    (kinds as unknown as readonly Kind<KubeObject>[]).map(async (kind) => {
      const { items } = await client.list(kind, { namespace, labelSelector: "app.kubernetes.io/name!=fjord", signal });
      // What others make goes with them, and is not named beside them.
      return items.filter(({ metadata }) => !metadata.ownerReferences?.some(({ controller }) => controller === true));
    }),
  );
  const others = lists.flatMap((items, index) => items.map(({ metadata }) => `${kinds[index]?.kind} ${metadata.name}`));
  if (others.length === 0) return;
  const more = others.length > MOST_NAMED ? `, and ${others.length - MOST_NAMED} more` : "";
  throw new SharedNamespace({ namespace, what: `${others.slice(0, MOST_NAMED).join(", ")}${more}` });
}

const MOST_NAMED = 5;

/** Whose account has the agent's rights. */
async function boundNamespace(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  const found = await client.get(ClusterRoleBinding, { name: AGENT_NAME }, { signal }).catch(ifNotFound);
  return found?.subjects?.find(({ kind }) => kind === "ServiceAccount")?.namespace;
}
