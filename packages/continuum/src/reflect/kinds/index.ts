import type { ReflectedKind } from "../reflected-kind.ts";
import { configMaps } from "./config-map.ts";
import { secrets } from "./secret.ts";
import { services } from "./service.ts";

/** Kubernetes' own kinds that have twins. A companion comes before the kind that it accompanies. */
export const builtInKinds: readonly ReflectedKind[] = [configMaps, secrets, services];
