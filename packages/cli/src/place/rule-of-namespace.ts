import { OffloadingRule } from "@fjord/api";
import { ruleFor } from "@fjord/continuum/offloading-rules";
import { isForbidden, isNotFound, type KubeClient, Namespace } from "@fjord/kube";

/** The OffloadingRule that a namespace follows, as far as one may look: it would be offloaded again at once. */
export async function ruleOfNamespace(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const [namespace, rules] = await Promise.all([
      client.get(Namespace, { name }, { signal }),
      client.list(OffloadingRule, { signal }),
    ]);
    return ruleFor(namespace, rules.items)?.metadata.name;
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}
