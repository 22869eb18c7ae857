import type { Kind, KubeObject } from "@fjord/base";
import { isNotFound, type KubeClient } from "@fjord/kube";
import { NotInstalled } from "../errors.ts";

/** All objects of a kind, by name. A cluster that does not know the kind has no Fjord. */
export async function listOrExplain<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  signal: AbortSignal,
): Promise<T[]> {
  try {
    const { items } = await client.list(kind, { signal, omitManagedFields: true });
    return items.sort((a, b) => (a.metadata.name ?? "").localeCompare(b.metadata.name ?? ""));
  } catch (error) {
    if (isNotFound(error)) throw new NotInstalled({ server: client.transport.server }, { cause: error });
    throw error;
  }
}
