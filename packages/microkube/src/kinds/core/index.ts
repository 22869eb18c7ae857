import type { KindDefinition } from "../kind.ts";
import type { CompleteMeans } from "../kind-means.ts";
import { pod } from "../pod/pod.ts";
import { configMap } from "./config-map.ts";
import { namespace } from "./namespace.ts";
import { secret } from "./secret.ts";

export function coreKinds(_means: CompleteMeans): KindDefinition[] {
  return [namespace, configMap, secret, pod];
}
