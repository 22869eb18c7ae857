import type { Pod } from "@fjord/kube";
import type { StoredKey } from "../store/node-store.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/** The ConfigMaps, Secrets and claims that a pod names, each once. */
export function podReferences(pod: Pod): StoredKey[] {
  const { namespace = "default", name: podName } = pod.metadata;
  const { spec } = pod;
  if (spec === undefined) return [];
  const found = new Map<string, StoredKey>();
  const add = (kind: string, name: string | undefined) => {
    if (name) found.set(`${kind}/${name}`, { kind, namespace, name });
  };
  for (const secret of spec.imagePullSecrets ?? []) add("Secret", secret.name);
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  for (const container of containers) addVariables(container, add);
  for (const volume of spec.volumes ?? []) {
    add("ConfigMap", volume.configMap?.name);
    add("Secret", volume.secret?.secretName);
    add("PersistentVolumeClaim", volume.persistentVolumeClaim?.claimName);
    // A claim that is made for the pod has the names of both.
    if (volume.ephemeral !== undefined) add("PersistentVolumeClaim", `${podName}-${volume.name}`);
    for (const source of volume.projected?.sources ?? []) {
      add("ConfigMap", source.configMap?.name);
      add("Secret", source.secret?.name);
    }
  }
  return [...found.values()];
}

function addVariables(
  container: Pick<Container, "env" | "envFrom">,
  add: (kind: string, name: string | undefined) => void,
): void {
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    add("ConfigMap", configMapRef?.name);
    add("Secret", secretRef?.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    add("ConfigMap", valueFrom?.configMapKeyRef?.name);
    add("Secret", valueFrom?.secretKeyRef?.name);
  }
}
