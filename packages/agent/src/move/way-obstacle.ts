import { Contract, OFFLOADING_RULE_LABEL, type Offloading, VirtualNode } from "@fjord/api";
import { offloadingOf } from "@fjord/continuum/offloading-of";
import type { KubeClient } from "@fjord/kube";

/** Why no pod of a namespace can get to another site; undefined: there is a way. */
export async function wayObstacle(
  client: KubeClient,
  { namespace, site, called }: { readonly namespace: string; readonly site: string; readonly called: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!(await hasNode(client, site, signal)))
    return `there is no contract with it: \`fjord peer ${called} --cpu=... --memory=...\` makes one`;
  const offloading = await offloadingOf(client, namespace, signal);
  if (offloading === undefined)
    return `namespace ${namespace} is not offloaded: \`fjord offload ${namespace}\` lets it extend to other sites`;
  if (offloading.spec.pods === "Local")
    return `pods of namespace ${namespace} run here only: ${bothBy(namespace, offloading)}`;
  const known = offloading.status?.sites ?? [];
  if (known.length > 0 && !known.some((each) => each.site === site))
    return `namespace ${namespace} does not extend to it: its selector of sites leaves it out`;
  return undefined;
}

/** Why no pod of a namespace can run here; undefined: some can. */
export async function homeObstacle(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const offloading = await offloadingOf(client, namespace, signal);
  if (offloading?.spec.pods !== "Remote") return undefined;
  return `pods of namespace ${namespace} run at other sites only: ${bothBy(namespace, offloading)}`;
}

/** What lets pods run here and at other sites. What a rule has made is the rule's to change. */
function bothBy(namespace: string, { metadata }: Offloading): string {
  const command = `\`fjord offload ${namespace} --pods=Both\` changes that`;
  if (metadata.labels?.[OFFLOADING_RULE_LABEL] === undefined) return command;
  const label = `kubectl label offloading offloading ${OFFLOADING_RULE_LABEL}- -n ${namespace}`;
  return `an OffloadingRule says so (\`kubectl edit offloadingrule\`); where \`${label}\` has made it the namespace's own, ${command}`;
}

/** Whether a virtual node stands for the site. */
async function hasNode(client: KubeClient, site: string, signal: AbortSignal): Promise<boolean> {
  const options = { signal, omitManagedFields: true };
  const [nodes, contracts] = await Promise.all([client.list(VirtualNode, options), client.list(Contract, options)]);
  const provides = new Map(contracts.items.map(({ metadata, spec }) => [metadata.name, spec.terms.provider]));
  return nodes.items.some(({ spec, status }) => (status?.provider ?? provides.get(spec.contract)) === site);
}
