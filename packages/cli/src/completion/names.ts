import { Contract, isKeptNamespace, Offloading, Peering, Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import { Deployment, type KubeClient, Namespace, Pod, readKubeconfigs, Service, StatefulSet } from "@fjord/kube";
import { connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { kubeconfigFiles } from "../command-line/kubeconfig-files.ts";
import type { Offer } from "./complete.ts";
import type { Source } from "./sources.ts";

/** Whoever presses a key does not wait for long. */
const PATIENCE_MS = 2_000;

/** The names that there are; none where they cannot be had: a completion that complains is worse than none. */
export async function namesOf(
  sources: readonly Source[],
  flags: Offer["flags"],
  context: CommandContext,
): Promise<string[]> {
  if (sources.length === 0) return [];
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_MS)]);
  const found = sources.includes("contexts") ? await quietly(contexts(flags, context)) : [];
  const others = sources.filter((source) => source !== "contexts");
  if (others.length === 0) return found;
  const { namespace, ...cluster } = flags;
  const known = Object.fromEntries(Object.entries(cluster).filter(([, value]) => value !== undefined));
  const listed = await quietly(
    (async () => {
      await using client = await connect(known, context);
      const lists = await Promise.all(others.map((source) => quietly(listed_(client, source, namespace, signal))));
      return lists.flat();
    })(),
  );
  return [...new Set([...listed, ...found])];
}

async function listed_(
  client: KubeClient,
  source: Source,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  const scope = { signal, ...(namespace !== undefined && { namespace }) };
  const names = async (kind: Kind<KubeObject>, options: object = { signal }) =>
    (await client.list(kind, options)).items.map(({ metadata }) => metadata.name ?? "");
  const here = { ...scope, namespace: namespace ?? client.namespace };
  switch (source) {
    case "sites":
      return names(Site as Kind<KubeObject>);
    case "peers": {
      const { items } = await client.list(Site, { signal });
      return items.filter(({ status }) => status?.role !== "Self").map(({ metadata }) => metadata.name ?? "");
    }
    case "peerings":
      return names(Peering as Kind<KubeObject>);
    case "contracts": {
      const { items } = await client.list(Contract, { signal });
      return items.filter(({ status }) => status?.phase !== "Ended").map(({ metadata }) => metadata.name ?? "");
    }
    case "namespaces":
      return names(Namespace as Kind<KubeObject>);
    case "offloadable":
      return (await names(Namespace as Kind<KubeObject>)).filter((name) => !isKeptNamespace(name));
    case "offloaded":
      return (await client.list(Offloading, { signal })).items.map(({ metadata }) => metadata.namespace ?? "");
    case "pods":
      return names(Pod as Kind<KubeObject>, here);
    case "services":
      return (await names(Service as Kind<KubeObject>, here)).map((name) => `service/${name}`);
    case "workloads": {
      const deployments = await names(Deployment as Kind<KubeObject>, here);
      const sets = await names(StatefulSet as Kind<KubeObject>, here);
      return [...deployments.map((name) => `deployment/${name}`), ...sets.map((name) => `statefulset/${name}`)];
    }
    case "contexts":
      return [];
  }
}

async function contexts({ kubeconfig }: Offer["flags"], context: CommandContext): Promise<string[]> {
  const files = kubeconfigFiles(kubeconfig, context);
  const { contexts: known } = await readKubeconfigs(files, { ignoreMissing: true });
  return [...known.keys()];
}

async function quietly(names: Promise<string[]>): Promise<string[]> {
  return await names.catch(() => []);
}
