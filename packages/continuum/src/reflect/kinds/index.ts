import type { ReflectedKind } from "../reflected-kind.ts";
import { configMaps } from "./config-map.ts";
import { endpointSlices } from "./endpoint-slice.ts";
import { ingresses } from "./ingress.ts";
import { networkPolicies } from "./network-policy.ts";
import { persistentVolumeClaims } from "./persistent-volume-claim.ts";
import { podDisruptionBudgets } from "./pod-disruption-budget.ts";
import { secrets } from "./secret.ts";
import { services } from "./service.ts";

/** Kubernetes' own kinds that have twins. A companion comes before the kind that it accompanies. */
export const builtInKinds: readonly ReflectedKind[] = [
  configMaps,
  secrets,
  services,
  endpointSlices,
  ingresses,
  persistentVolumeClaims,
  networkPolicies,
  podDisruptionBudgets,
];
