import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "@fjord/kube";

/** A folder of a node as a volume for one claim. Without a node, every node is taken to have the same folder. */
export function forgeLocalVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  directory: string,
  node?: Node,
): PersistentVolume {
  const { name, namespace, uid } = claim.metadata;
  const volumeName = `pvc-${uid}`;
  const hostname = node?.metadata.labels?.["kubernetes.io/hostname"] ?? node?.metadata.name;
  const base = storageClass.parameters?.nodePath ?? directory;
  const key = "kubernetes.io/hostname";
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: volumeName,
      annotations: { "pv.kubernetes.io/provisioned-by": storageClass.provisioner },
    },
    spec: {
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "0" },
      accessModes: claim.spec?.accessModes,
      volumeMode: claim.spec?.volumeMode ?? "Filesystem",
      storageClassName: storageClass.metadata.name,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      ...(storageClass.mountOptions && { mountOptions: storageClass.mountOptions }),
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid },
      hostPath: { path: `${base}/${volumeName}_${namespace}_${name}`, type: "DirectoryOrCreate" },
      ...(hostname !== undefined && {
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "In", values: [hostname] }] }] },
        },
      }),
    },
  } as PersistentVolume;
}
