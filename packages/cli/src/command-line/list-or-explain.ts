import type { Kind, KubeObject } from "@fjord/base";
import { isNotFound, type KubeClient } from "@fjord/kube";
import { NotInstalled } from "../errors.ts";
import { byName } from "./follow-lists.ts";

/** All objects of a kind, by name. A cluster that does not know the kind has no Fjord. */
export async function listOrExplain<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  signal: AbortSignal,
): Promise<T[]> {
  try {
    const { items } = await client.list(kind, { signal, omitManagedFields: true });
    return byName(items);
  } catch (error) {
    if (isNotFound(error)) throw new NotInstalled({ server: client.transport.server }, { cause: error });
    throw error;
  }
}
