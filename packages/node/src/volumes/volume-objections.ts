import type { Pod } from "@fjord/kube";
import { type Container, firstContainers } from "../environment/pod-containers.ts";
import type { Volume } from "./projections.ts";

const served = new Set([
  "configMap",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "hostPath",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

/** Which volumes of a pod, but for its ephemeral containers, no node of this kind can serve, a sentence for each. Pure. */
export function volumeObjections(pod: Pod): string[] {
  return [...(pod.spec?.volumes ?? []).flatMap(objectionsTo), ...firstContainers(pod).flatMap(deviceObjections)];
}

/** What of a container's block devices this node cannot give. Pure. */
export function deviceObjections({ name, volumeDevices = [] }: Container): string[] {
  return volumeDevices.length === 0
    ? []
    : [`container "${name}" asks for raw block devices, which this node cannot give`];
}

function objectionsTo(volume: Volume): string[] {
  const [kind] = Object.keys(volume).filter((key) => key !== "name");
  const name = JSON.stringify(volume.name);
  if (!isLabel(volume.name)) return [`the volume name ${name} cannot be used`];
  if (kind === undefined) return [];
  if (!served.has(kind)) return [`volume ${name} is of kind ${kind}, which this node cannot serve`];
  if (volume.emptyDir?.medium?.startsWith("HugePages")) {
    return [`volume ${name} is to be made of huge pages, which this node does not give`];
  }
  const path = volume.hostPath?.path;
  if (path !== undefined && (!path.startsWith("/") || path.split("/").includes(".."))) {
    return [`volume ${name} has the path ${JSON.stringify(path)}, which must be absolute and without '..'`];
  }
  return (volume.projected?.sources ?? []).flatMap((source) => {
    const [projection] = Object.keys(source).filter((key) => key === "clusterTrustBundle" || key === "podCertificate");
    return projection === undefined ? [] : [`volume ${name} projects a ${projection}, which this node cannot serve`];
  });
}

/** Names as the API server takes them, which are safe as names of files. */
export function isLabel(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name);
}
