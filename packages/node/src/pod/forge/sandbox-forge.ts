import type { Pod } from "@fjord/kube";
import { cgroupParent } from "../../resources/cgroup-parent.ts";
import { wholePodResources } from "../../resources/container-resources.ts";
import type { PodIdentity, PortMapping, SandboxConfig } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import { containersOf, uidOf } from "../pod-containers.ts";
import { logDirectory, podDirectory } from "../pod-directory.ts";
import type { PodSettings } from "../pod-settings.ts";
import { dnsOf } from "./dns.ts";
import { hostnameOf } from "./hostname.ts";
import { securityOf } from "./security.ts";

export function identityOf(pod: Pod): PodIdentity {
  return { uid: uidOf(pod), namespace: pod.metadata.namespace ?? "", name: pod.metadata.name ?? "" };
}

/** What a runtime needs to make the sandbox of a pod. */
export function forgeSandbox(pod: Pod, attempt: number, runtimeHandler: string, settings: PodSettings): SandboxConfig {
  const { spec } = pod;
  const dns = dnsOf(pod, settings);
  return {
    pod: identityOf(pod),
    attempt,
    labels: { ...pod.metadata.labels, ...podLabels(pod) },
    annotations: {
      ...keptAnnotations(pod),
      [annotations.handler]: runtimeHandler,
      [annotations.resources]: JSON.stringify(spec?.resources ?? {}),
    },
    hostname: hostnameOf(pod, settings.clusterDomain),
    ...(dns && { dns }),
    logDirectory: logDirectory(settings.stateDirectory, pod),
    podDirectory: podDirectory(settings.stateDirectory, uidOf(pod)),
    ports: spec?.hostNetwork ? [] : portsOf(pod),
    runtimeHandler,
    cgroupParent: cgroupParent(pod, settings.cgroupRoot),
    resources: wholePodResources(pod),
    namespaces: {
      hostNetwork: spec?.hostNetwork ?? false,
      hostPid: spec?.hostPID ?? false,
      hostIpc: spec?.hostIPC ?? false,
      sharedPid: spec?.shareProcessNamespace ?? false,
      hostUsers: spec?.hostUsers ?? true,
    },
    sysctls: Object.fromEntries((spec?.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
    security: { ...securityOf(pod), privileged: hasPrivileged(pod) },
  };
}

/** By which tools beside the node find a pod's containers in a runtime. */
export function podLabels(pod: Pod): Record<string, string> {
  return {
    "io.kubernetes.pod.name": pod.metadata.name ?? "",
    "io.kubernetes.pod.namespace": pod.metadata.namespace ?? "",
    "io.kubernetes.pod.uid": uidOf(pod),
  };
}

/** All but the pod's own manifest, which kubectl leaves there and which may be long. */
function keptAnnotations(pod: Pod): Record<string, string> {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...kept } = pod.metadata.annotations ?? {};
  return kept;
}

function portsOf(pod: Pod): PortMapping[] {
  const ports = containersOf(pod).flatMap(({ spec }) => spec.ports ?? []);
  return ports.flatMap(({ hostPort = 0, containerPort, protocol = "TCP", hostIP }) => {
    if (hostPort === 0) return [];
    return [{ protocol: protocol as PortMapping["protocol"], containerPort, hostPort, ...(hostIP && { hostIP }) }];
  });
}

/** A privileged container can only be in a privileged sandbox. */
function hasPrivileged(pod: Pod): boolean {
  return containersOf(pod).some(({ spec }) => spec.securityContext?.privileged === true);
}
