import type { Kind, KubeObject } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { elsewhereHint, getOrSuggest } from "../place/workload-pods.ts";
import type { NamedText } from "./end-text.ts";

/** What is named, in `namespace` unless the words name another; one that is not there is answered with where one is. */
export async function namedObject<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  { name, namespace: said }: Pick<NamedText, "name" | "namespace">,
  namespace: string,
  signal: AbortSignal,
): Promise<T> {
  // Words that name a namespace are not changed by -n.
  const elsewhere = ([first]: readonly string[]) =>
    first === undefined ? "" : ` (there is ${kind.kind.toLowerCase()}/${first}/${name})`;
  const hint = said === undefined ? elsewhereHint : elsewhere;
  return await getOrSuggest(client, kind, { name, namespace: said ?? namespace }, signal, hint);
}
