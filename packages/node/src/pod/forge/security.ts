import type { Pod } from "@fjord/kube";
import type { SecurityConfig, SecurityProfile } from "../../runtime/index.ts";
import type { Container } from "../pod-containers.ts";

/** The security context of a container, or of the pod as a whole: what the container says goes before what the pod says. */
export function securityOf(pod: Pod, container?: Container): SecurityConfig {
  const whole = pod.spec?.securityContext ?? {};
  const own = container?.securityContext ?? {};
  const runAsUser = own.runAsUser ?? whole.runAsUser;
  const runAsGroup = own.runAsGroup ?? whole.runAsGroup;
  const seLinux = own.seLinuxOptions ?? whole.seLinuxOptions;
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy } = whole;
  return {
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
    supplementalGroups: [...new Set([...supplementalGroups, ...(fsGroup === undefined ? [] : [fsGroup])])],
    ...(supplementalGroupsPolicy !== undefined && { supplementalGroupsPolicy }),
    privileged: own.privileged ?? false,
    readOnlyRootFilesystem: own.readOnlyRootFilesystem ?? false,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    addCapabilities: own.capabilities?.add ?? [],
    dropCapabilities: own.capabilities?.drop ?? [],
    seccomp: profileOf(own.seccompProfile ?? whole.seccompProfile, "Unconfined"),
    appArmor: profileOf(own.appArmorProfile ?? whole.appArmorProfile, "RuntimeDefault"),
    ...(seLinux && {
      seLinux: {
        user: seLinux.user ?? "",
        role: seLinux.role ?? "",
        type: seLinux.type ?? "",
        level: seLinux.level ?? "",
      },
    }),
    unmaskedProc: own.procMount === "Unmasked",
  };
}

function profileOf(
  profile: { type: string; localhostProfile?: string } | undefined,
  otherwise: "RuntimeDefault" | "Unconfined",
): SecurityProfile {
  if (profile?.type === "Localhost") return { type: "Localhost", profile: profile.localhostProfile ?? "" };
  if (profile?.type === "RuntimeDefault" || profile?.type === "Unconfined") return { type: profile.type };
  return { type: otherwise };
}
