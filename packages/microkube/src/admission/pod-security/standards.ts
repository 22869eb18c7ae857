import type { ObjectMeta } from "@fjord/base";
import {
  appArmorProfile,
  capabilitiesBaseline,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbesAndLifecycle,
  privileged,
  procMount,
  seccompAnnotations,
  seccompBaseline,
  seLinuxOptions,
  sysctls,
  windowsHostProcess,
} from "./baseline-checks.ts";
import type { LevelVersion } from "./pod-security-policy.ts";
import {
  allowPrivilegeEscalation,
  capabilitiesRestricted,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompRestricted,
  unlessUserNamespace,
  unlessWindows,
} from "./restricted-checks.ts";
import type { PodCheck, PodSpec, Violation } from "./violation.ts";

/** A check as it is from a minor version of Kubernetes on. */
type Versions = readonly (readonly [minor: number, check: PodCheck])[];

interface Standard {
  readonly id: string;
  readonly versions: Versions;
  /** Of restricted checks: what of baseline it says too, from which version on. */
  readonly instead?: readonly [minor: number, id: string];
}

const seLinux = ["", "container_t", "container_init_t", "container_kvm_t"];
const sysctls0 = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const sysctls27 = [...sysctls0, "net.ipv4.ip_local_reserved_ports"];
const keepalive = ["time", "intvl", "probes"].map((name) => `net.ipv4.tcp_keepalive_${name}`);
const sysctls29 = [...sysctls27, ...keepalive, "net.ipv4.tcp_fin_timeout"];
const sysctls32 = [...sysctls29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

/** In the order in which violations are told. */
const baseline: readonly Standard[] = [
  { id: "appArmorProfile", versions: [[0, appArmorProfile]] },
  { id: "capabilities", versions: [[0, capabilitiesBaseline]] },
  { id: "hostNamespaces", versions: [[0, hostNamespaces]] },
  { id: "hostPathVolumes", versions: [[0, hostPathVolumes]] },
  { id: "hostPorts", versions: [[0, hostPorts]] },
  { id: "hostProbes", versions: [[34, hostProbesAndLifecycle]] },
  { id: "privileged", versions: [[0, privileged]] },
  {
    id: "procMount",
    versions: [
      [0, procMount],
      [35, unlessUserNamespace(procMount)],
    ],
  },
  {
    id: "seLinuxOptions",
    versions: [
      [0, seLinuxOptions(seLinux)],
      [31, seLinuxOptions([...seLinux, "container_engine_t"])],
    ],
  },
  {
    id: "seccompProfile",
    versions: [
      [0, seccompAnnotations],
      [19, seccompBaseline],
    ],
  },
  {
    id: "sysctls",
    versions: [
      [0, sysctls(sysctls0)],
      [27, sysctls(sysctls27)],
      [29, sysctls(sysctls29)],
      [32, sysctls(sysctls32)],
    ],
  },
  { id: "windowsHostProcess", versions: [[0, windowsHostProcess]] },
];

const restricted: readonly Standard[] = [
  {
    id: "allowPrivilegeEscalation",
    versions: [
      [8, allowPrivilegeEscalation],
      [25, unlessWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: "capabilities_restricted",
    versions: [
      [22, capabilitiesRestricted],
      [25, unlessWindows(capabilitiesRestricted)],
    ],
    instead: [22, "capabilities"],
  },
  { id: "procMount_restricted", versions: [[35, procMount]], instead: [35, "procMount"] },
  { id: "restrictedVolumes", versions: [[0, restrictedVolumes]], instead: [0, "hostPathVolumes"] },
  {
    id: "runAsNonRoot",
    versions: [
      [0, runAsNonRoot],
      [35, unlessUserNamespace(runAsNonRoot)],
    ],
  },
  {
    id: "runAsUser",
    versions: [
      [23, runAsUser],
      [35, unlessUserNamespace(runAsUser)],
    ],
  },
  {
    id: "seccompProfile_restricted",
    versions: [
      [19, seccompRestricted],
      [25, unlessWindows(seccompRestricted)],
    ],
    instead: [19, "seccompProfile"],
  },
];

/** What of a pod the level forbids, in the words of Kubernetes; nothing: it is allowed. */
export function violationsOf({ level, minor }: LevelVersion, metadata: ObjectMeta, spec: PodSpec): Violation[] {
  if (level === "privileged") return [];
  const at = minor ?? Number.POSITIVE_INFINITY;
  const overridden =
    level === "baseline" ? [] : restricted.map(({ instead }) => (instead && at >= instead[0] ? instead[1] : ""));
  const checks = baseline.filter(({ id }) => !overridden.includes(id));
  const all = level === "baseline" ? checks : [...checks, ...restricted];
  return all
    .map(({ versions }) => versions.findLast(([from]) => at >= from)?.[1](metadata, spec))
    .filter((violation) => violation !== undefined);
}

/** `privileged (container "c" must not …), hostPort (…)`. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
}
