import type { ContainerConfig, Mount, SandboxConfig } from "../../runtime/index.ts";
import { linuxResources } from "./linux-resources.ts";
import type { Init } from "./proto/message.ts";
import * as cri from "./proto/messages.ts";
import { containerSecurity, sandboxSecurity } from "./security-context.ts";
import { stopSignalNumber } from "./stop-signal.ts";

/** What the machine adds to a pod's configuration. */
export interface MachineOptions {
  /** Control groups of version 2 only. */
  readonly unified: boolean;
  readonly seccompDirectory: string;
  /** As the runtime's control group driver names it. */
  readonly cgroupParent: (path: string) => string;
}

/** Labels by which other tools (crictl, log collectors) find pods. */
const label = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  container: "io.kubernetes.container.name",
} as const;

export function podSandboxConfig(config: SandboxConfig, machine: MachineOptions): Init<cri.PodSandboxConfig> {
  const { pod, dns, resources, namespaces } = config;
  return {
    metadata: { ...pod, attempt: config.attempt },
    hostname: config.hostname,
    logDirectory: config.logDirectory,
    ...(dns !== undefined && {
      dnsConfig: { servers: [...dns.servers], searches: [...dns.searches], options: [...dns.options] },
    }),
    portMappings: config.ports
      .filter((port) => port.hostPort > 0)
      .map(({ protocol, containerPort, hostPort, hostIP = "" }) => ({
        protocol: cri.Protocol[protocol],
        containerPort,
        hostPort,
        hostIp: hostIP,
      })),
    labels: { ...config.labels, ...podLabels(config) },
    annotations: config.annotations,
    linux: {
      cgroupParent: machine.cgroupParent(config.cgroupParent),
      securityContext: sandboxSecurity(config.security, namespaces, machine),
      sysctls: config.sysctls,
      ...(resources !== undefined && { resources: linuxResources(resources, machine) }),
    },
  };
}

export function containerConfig(
  config: ContainerConfig,
  pod: SandboxConfig,
  machine: MachineOptions,
): Init<cri.ContainerConfig> {
  const { targetContainer } = config;
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: { image: config.imageId || config.image, userSpecifiedImage: config.image },
    command: [...config.command],
    args: [...config.args],
    workingDir: config.workingDirectory,
    envs: config.environment.map(({ name, value }) => ({ key: name, value })),
    mounts: config.mounts.map(mount),
    labels: { ...config.labels, ...podLabels(pod), [label.container]: config.name },
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: stopSignalNumber(config.stopSignal),
    linux: {
      resources: linuxResources(config.resources, machine),
      securityContext: containerSecurity(config.security, pod.namespaces, {
        seccompDirectory: machine.seccompDirectory,
        ...(targetContainer !== undefined && { targetContainer }),
      }),
    },
  };
}

function podLabels({ pod }: SandboxConfig): Record<string, string> {
  return { [label.podName]: pod.name, [label.podNamespace]: pod.namespace, [label.podUid]: pod.uid };
}

const propagations = {
  private: cri.MountPropagation.PROPAGATION_PRIVATE,
  hostToContainer: cri.MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  bidirectional: cri.MountPropagation.PROPAGATION_BIDIRECTIONAL,
} as const;

function mount(given: Mount): Init<cri.Mount> {
  const { hostPath, containerPath, readOnly, recursiveReadOnly = false, propagation = "private", image } = given;
  return {
    containerPath,
    readonly: readOnly,
    recursiveReadOnly,
    propagation: propagations[propagation],
    ...(image === undefined ? { hostPath } : { image: { image, userSpecifiedImage: image } }),
  };
}
