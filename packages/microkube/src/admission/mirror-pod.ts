import type { Pod } from "@fjord/kube";

type PodSpec = NonNullable<Pod["spec"]>;

/** What of the API a mirror pod refers to, which it may not: with it a kubelet could read what is not its own. */
export function mirrorReference(spec: PodSpec | undefined): string | undefined {
  if (spec?.serviceAccountName) return "serviceaccounts";
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const inEnvironment = (kind: "secret" | "configMap") =>
    containers.some(
      ({ env = [], envFrom = [] }) =>
        env.some(({ valueFrom }) => valueFrom?.[`${kind}KeyRef`]) || envFrom.some((source) => source[`${kind}Ref`]),
    );
  if ((spec?.imagePullSecrets ?? []).length > 0 || inEnvironment("secret")) return "secrets";
  if (inEnvironment("configMap")) return "configmaps";
  if ((spec?.resourceClaims ?? []).length > 0) return "resourceclaims";
  for (const volume of spec?.volumes ?? []) {
    const found = volumeReference(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function volumeReference(volume: NonNullable<PodSpec["volumes"]>[number]): string | undefined {
  if (volume.configMap) return "configmaps (via configmap volumes)";
  if (volume.secret) return "secrets (via secret volumes)";
  if (volume.csi) return "csidrivers (via CSI volumes)";
  if (volume.glusterfs) return "endpoints (via glusterFS volumes)";
  if (volume.persistentVolumeClaim) return "persistentvolumeclaims";
  if (volume.ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
  if (volume.azureFile) return "secrets (via azureFile volumes)";
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap) return "configmaps (via projected volumes)";
    if (source.secret) return "secrets (via projected volumes)";
    if (source.serviceAccountToken) return "serviceaccounts (via projected volumes)";
    if (source.clusterTrustBundle) return "clustertrustbundles";
  }
  return undefined;
}
