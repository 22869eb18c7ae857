import type { Kind, KubeObject } from "@fjord/base";
import { didYouMean } from "@fjord/base";
import {
  DaemonSet,
  Deployment,
  isForbidden,
  isNotFound,
  Job,
  type KubeClient,
  type LabelSelector,
  matchesSelector,
  Namespace,
  Pod,
  StatefulSet,
} from "@fjord/kube";
import { NoSuchThing } from "../errors.ts";
import type { WorkloadReference } from "./workload-reference.ts";

type Selecting = KubeObject & { spec?: { selector?: LabelSelector } };

/** An object by its name; one that is not there is answered with a guess. `elsewhere` says how those of other namespaces are named. */
export async function getOrSuggest<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  key: { readonly name: string; readonly namespace: string },
  signal: AbortSignal,
  elsewhere: (namespaces: readonly string[]) => string = elsewhereHint,
): Promise<T> {
  try {
    return await client.get(kind, key, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { items } = await client.list(kind, { namespace: key.namespace, signal });
    const names = items.map(({ metadata }) => metadata.name ?? "");
    await namespaceExists(client, key.namespace, signal);
    const what = `${kind.kind.toLowerCase()} in namespace ${key.namespace} called`;
    const workload = kind.kind === "Pod" ? await workloadCalled(client, key, signal) : undefined;
    const hint =
      workload === undefined
        ? elsewhere(await namespacesWith(client, kind, key.name, signal)) || didYouMean(key.name, names)
        : ` (there is ${workload})`;
    throw new NoSuchThing({ what, name: key.name, hint });
  }
}

/** Whoever names a workload as if it were a pod is told how to name it. */
async function workloadCalled(
  client: KubeClient,
  key: { readonly name: string; readonly namespace: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const kind of [Deployment, StatefulSet, DaemonSet, Job] as unknown as Kind<KubeObject>[]) {
    try {
      await client.get(kind, key, { signal });
      return `${kind.kind.toLowerCase()}/${key.name}`;
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
  return undefined;
}

/** Who left `-n` out most often means one of another namespace. */
export function elsewhereHint(namespaces: readonly string[]): string {
  const [first, ...others] = namespaces;
  if (first === undefined) return "";
  const where = others.length === 0 ? `namespace ${first}` : `namespaces ${namespaces.join(", ")}`;
  return ` (there is one in ${where}: -n ${first})`;
}

/** Those that have an object of this name, as far as one may look. */
async function namespacesWith<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const { items } = await client.list(kind, { fieldSelector: `metadata.name=${name}`, signal });
    return items.map(({ metadata }) => metadata.namespace ?? "").sort();
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}

/** A misspelt namespace is a mistake; whoever may not list them is not told so. */
export async function namespaceExists(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const items = await client.list(Namespace, { signal }).then(
    (list) => list.items,
    (error: unknown) => (isForbidden(error) ? undefined : Promise.reject(error)),
  );
  if (items === undefined) return;
  const names = items.map(({ metadata }) => metadata.name ?? "");
  if (!names.includes(name)) throw new NoSuchThing({ what: "namespace", name, hint: didYouMean(name, names) });
}

/** The pods of a workload, or the one pod, by name. */
export async function podsOf(
  client: KubeClient,
  { kind, name }: WorkloadReference,
  namespace: string,
  signal: AbortSignal,
): Promise<Pod[]> {
  if (kind.kind === "Pod") return [await getOrSuggest(client, Pod, { name, namespace }, signal)];
  const workload = (await getOrSuggest(client, kind, { name, namespace }, signal)) as Selecting;
  const selector = workload.spec?.selector;
  const { items } = await client.list(Pod, { namespace, signal });
  const own = items.filter(({ metadata }) => selector !== undefined && matchesSelector(selector, metadata.labels));
  return own.toSorted((a, b) => (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
}
