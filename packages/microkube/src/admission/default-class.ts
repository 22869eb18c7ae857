import type { KubeObject } from "@fjord/base";
import type { Ingress, IngressClass, PersistentVolumeClaim, StorageClass } from "@fjord/kube";
import { findAll } from "../cluster-objects.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isFor } from "./refusal.ts";

/** Claims that name no storage class get the default one. */
export const defaultStorageClass: AdmissionPlugin = {
  name: "DefaultStorageClass",
  mutate(request) {
    if (!isFor(request, "persistentvolumeclaims") || request.operation !== "CREATE") return;
    const claim = request.object as PersistentVolumeClaim;
    const annotated = claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"];
    if (claim.spec === undefined || claim.spec.storageClassName !== undefined || annotated !== undefined) return;
    const classes = findAll<StorageClass>(request.cluster, "StorageClass", undefined, "storage.k8s.io");
    const found = newestDefault(classes, [
      "storageclass.kubernetes.io/is-default-class",
      "storageclass.beta.kubernetes.io/is-default-class",
    ]);
    if (found !== undefined) claim.spec.storageClassName = found;
  },
};

/** Ingresses that name no class get the default one. */
export const defaultIngressClass: AdmissionPlugin = {
  name: "DefaultIngressClass",
  mutate(request) {
    if (!isFor(request, "ingresses", "networking.k8s.io") || request.operation !== "CREATE") return;
    const ingress = request.object as Ingress;
    if (ingress.spec?.ingressClassName !== undefined) return;
    if (ingress.metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined) return;
    const classes = findAll<IngressClass>(request.cluster, "IngressClass", undefined, "networking.k8s.io");
    const found = newestDefault(classes, ["ingressclass.kubernetes.io/is-default-class"]);
    if (found !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: found };
  },
};

/** Of several defaults the newest; of those of one second the first by name. */
function newestDefault(classes: readonly KubeObject[], annotations: readonly string[]): string | undefined {
  const isDefault = ({ metadata }: KubeObject) => annotations.some((name) => metadata.annotations?.[name] === "true");
  const time = ({ metadata }: KubeObject) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const sorted = classes
    .filter(isDefault)
    .toSorted((a, b) => time(b) - time(a) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  return sorted[0]?.metadata.name;
}
