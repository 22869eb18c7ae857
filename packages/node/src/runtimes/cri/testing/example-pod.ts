import { join } from "node:path";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../../../runtime/index.ts";
import { testImages } from "./busybox-image.ts";

export const plainSecurity: SecurityConfig = {
  supplementalGroups: [],
  privileged: false,
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: { type: "RuntimeDefault" },
  appArmor: { type: "RuntimeDefault" },
  unmaskedProc: false,
};

/** A pod as a node would describe it, below the directory and control group of a test. */
export function examplePod(
  place: { directory: string; cgroup: string },
  name: string,
  changes: Partial<SandboxConfig> = {},
): SandboxConfig {
  return {
    pod: { uid: `uid-of-${name}`, namespace: "default", name },
    attempt: 0,
    labels: {},
    annotations: {},
    hostname: name,
    logDirectory: join(place.directory, "logs", name),
    podDirectory: join(place.directory, "pods", name),
    ports: [],
    runtimeHandler: "",
    cgroupParent: `${place.cgroup}/kubepods/pod-${name}`,
    resources: { cpuRequest: 100 },
    namespaces: { hostNetwork: false, hostPid: false, hostIpc: false, sharedPid: false, hostUsers: true },
    sysctls: {},
    security: plainSecurity,
    ...changes,
  };
}

/** A container that runs a line of shell. */
export function exampleContainer(
  name: string,
  script: string,
  changes: Partial<ContainerConfig> = {},
): ContainerConfig {
  return {
    name,
    attempt: 0,
    image: testImages.busybox,
    imageId: "",
    command: ["sh", "-c"],
    args: [script],
    workingDirectory: "",
    environment: [],
    mounts: [],
    labels: {},
    annotations: {},
    logPath: `${name}/0.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    security: plainSecurity,
    ...changes,
  };
}
