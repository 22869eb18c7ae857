import { join } from "node:path";
import type { PodNamespaces, SecurityConfig, SecurityProfile } from "../../runtime/index.ts";
import type { Init } from "./proto/message.ts";
import * as cri from "./proto/messages.ts";

/** What of /proc and /sys tells too much of the machine, or lets it be changed. Hidden from containers. */
const MASKED = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];

const READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

export interface ProfileOptions {
  /** Folder that seccomp profiles named by pods lie in. */
  readonly seccompDirectory: string;
}

export function sandboxSecurity(
  security: SecurityConfig,
  namespaces: PodNamespaces,
  options: ProfileOptions,
): Init<cri.LinuxSandboxSecurityContext> {
  return {
    ...shared(security, options),
    namespaceOptions: sandboxNamespaces(namespaces),
  };
}

export function containerSecurity(
  security: SecurityConfig,
  namespaces: PodNamespaces,
  options: ProfileOptions & { readonly targetContainer?: string },
): Init<cri.LinuxContainerSecurityContext> {
  const { targetContainer } = options;
  const open = security.unmaskedProc || security.privileged;
  return {
    ...shared(security, options),
    namespaceOptions: {
      ...sandboxNamespaces(namespaces),
      ...(targetContainer !== undefined && { pid: cri.NamespaceMode.TARGET, targetId: targetContainer }),
    },
    capabilities: {
      addCapabilities: security.addCapabilities.map(capability),
      dropCapabilities: security.dropCapabilities.map(capability),
    },
    runAsUsername: security.runAsUserName ?? "",
    noNewPrivs: security.noNewPrivileges,
    maskedPaths: open ? [] : MASKED,
    readonlyPaths: open ? [] : READ_ONLY,
  };
}

function shared(security: SecurityConfig, { seccompDirectory }: ProfileOptions) {
  const { runAsUser, runAsGroup, seLinux } = security;
  return {
    ...(runAsUser !== undefined && { runAsUser: { value: BigInt(runAsUser) } }),
    ...(runAsGroup !== undefined && { runAsGroup: { value: BigInt(runAsGroup) } }),
    ...(seLinux !== undefined && { selinuxOptions: seLinux }),
    supplementalGroups: security.supplementalGroups.map(BigInt),
    supplementalGroupsPolicy: cri.SupplementalGroupsPolicy[security.supplementalGroupsPolicy ?? "Merge"],
    readonlyRootfs: security.readOnlyRootFilesystem,
    privileged: security.privileged,
    seccomp: profile(security.seccomp, (name) => join(seccompDirectory, name)),
    // Left out, it is the runtime's default where the machine has AppArmor; named, it fails where the machine has not.
    ...(security.appArmor.type !== "RuntimeDefault" && { apparmor: profile(security.appArmor, (name) => name) }),
  };
}

function profile(given: SecurityProfile, reference: (name: string) => string): Init<cri.SecurityProfile> {
  return {
    profileType: cri.SecurityProfile_ProfileType[given.type],
    ...(given.type === "Localhost" && { localhostRef: reference(given.profile) }),
  };
}

function sandboxNamespaces(namespaces: PodNamespaces): Init<cri.NamespaceOption> {
  return {
    network: namespaces.hostNetwork ? cri.NamespaceMode.NODE : cri.NamespaceMode.POD,
    ipc: namespaces.hostIpc ? cri.NamespaceMode.NODE : cri.NamespaceMode.POD,
    pid: namespaces.hostPid
      ? cri.NamespaceMode.NODE
      : namespaces.sharedPid
        ? cri.NamespaceMode.POD
        : cri.NamespaceMode.CONTAINER,
  };
}

/** Pods may write `CAP_NET_ADMIN` for `NET_ADMIN`; runtimes take the short form. */
function capability(name: string): string {
  return name.replace(/^CAP_/, "");
}
