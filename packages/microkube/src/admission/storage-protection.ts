import { type PersistentVolumeClaim, parseQuantity, type StorageClass } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isFor, refusal } from "./refusal.ts";

const finalizers: Readonly<Record<string, string>> = {
  "/persistentvolumes": "kubernetes.io/pv-protection",
  "/persistentvolumeclaims": "kubernetes.io/pvc-protection",
  "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
};

/** What stores data stays while it is used: a controller takes the finalizer away when it is not. */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  mutate({ type, subresource, operation, object }) {
    const finalizer = finalizers[`${type.group}/${type.plural}`];
    if (finalizer === undefined || subresource !== "" || operation !== "CREATE" || object === undefined) return;
    const { metadata } = object;
    if (metadata.finalizers?.includes(finalizer)) return;
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
  },
};

/** Only bound claims grow, and only where their class says that they can. */
export const persistentVolumeClaimResize: AdmissionPlugin = {
  name: "PersistentVolumeClaimResize",
  validate(request) {
    if (!isFor(request, "persistentvolumeclaims") || request.operation !== "UPDATE") return;
    const claim = request.object as PersistentVolumeClaim;
    const old = request.old as PersistentVolumeClaim;
    const size = ({ spec }: PersistentVolumeClaim) => parseQuantity(spec?.resources?.requests?.storage ?? 0);
    if (size(claim) <= size(old)) return;
    if (old.status?.phase !== "Bound") throw refusal(request, "Only bound persistent volume claims can be expanded");
    const name = classOf(claim);
    const found = find<StorageClass>(request.cluster, "StorageClass", "", name, "storage.k8s.io");
    if (name !== "" && name === classOf(old) && found?.allowVolumeExpansion) return;
    throw refusal(
      request,
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    );
  },
};

function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "";
}
