import type { Pod } from "@fjord/kube";

/** Names of the objects that a pod cannot start without, by resource. */
export interface PodReferences {
  readonly configmaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  readonly persistentvolumeclaims: ReadonlySet<string>;
}

/** What a pod names in its environment, its volumes and its pull secrets. */
export function referencesOf({ spec }: Pod): PodReferences {
  const configmaps = new Set<string>();
  const secrets = new Set<string>();
  const persistentvolumeclaims = new Set<string>();
  const add = (names: Set<string>, name: string | undefined) => {
    if (name !== undefined && name !== "") names.add(name);
  };
  const { containers = [], initContainers = [], ephemeralContainers = [], volumes = [] } = spec ?? {};
  for (const { env = [], envFrom = [] } of [...initContainers, ...containers, ...ephemeralContainers]) {
    for (const { valueFrom } of env) {
      add(configmaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add(configmaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
  }
  for (const volume of volumes) {
    add(configmaps, volume.configMap?.name);
    add(secrets, volume.secret?.secretName);
    add(secrets, volume.csi?.nodePublishSecretRef?.name);
    add(persistentvolumeclaims, volume.persistentVolumeClaim?.claimName);
    for (const { configMap, secret } of volume.projected?.sources ?? []) {
      add(configmaps, configMap?.name);
      add(secrets, secret?.name);
    }
  }
  for (const { name } of spec?.imagePullSecrets ?? []) add(secrets, name);
  return { configmaps, secrets, persistentvolumeclaims };
}
