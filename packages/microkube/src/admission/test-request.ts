import type { KubeObject } from "@fjord/base";
import type { TestCluster } from "../test-cluster.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

type Given = Partial<Omit<AdmissionRequest, "object" | "old">> & { object?: KubeObject; old?: KubeObject };

/** A request for a test: a create of the object, or an update where there is an old one. */
export function requestOf(
  cluster: TestCluster,
  object: KubeObject | undefined,
  given: Given = {},
): AdmissionRequest & { readonly warnings: string[] } {
  const { metadata } = (object ?? given.old) as KubeObject;
  const type = given.type ?? cluster.typeOf((object ?? given.old) as KubeObject);
  const warnings: string[] = [];
  return {
    cluster,
    caller: { user: "jane", groups: ["system:authenticated"] },
    operation: given.old === undefined ? "CREATE" : object === undefined ? "DELETE" : "UPDATE",
    type,
    version: type.version,
    subresource: "",
    namespace: metadata.namespace ?? (type.kind === "Namespace" ? (metadata.name ?? "") : ""),
    name: metadata.name ?? "",
    options: {},
    dryRun: false,
    warn: (text) => void warnings.push(text),
    warnings,
    ...given,
    object,
    old: given.old,
  };
}

/** Lets the plugin change and check a copy of the object, and gives the copy. */
export async function admit<T extends KubeObject>(
  plugin: AdmissionPlugin,
  cluster: TestCluster,
  object: T,
  given: Given = {},
): Promise<T> {
  const copy = structuredClone(object);
  const request = requestOf(cluster, copy, given);
  await plugin.mutate?.(request);
  await plugin.validate?.(request);
  return copy;
}
