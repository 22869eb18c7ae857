import type { GuestPrivilege } from "@fjord/api";
import { defaultCapabilities, type Pod, safeSysctls } from "@fjord/kube";
import { chosenVolume } from "../../chosen-volume.ts";
import { addressOf } from "../pod/status/index.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

/** `kubectl debug` asks for it unless told otherwise; it reaches no process outside the pod. */
const debugCapabilities = [...defaultCapabilities, "SYS_PTRACE"];

const seLinuxTypes = ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/** Volumes that reach the node itself, or are given credentials by it. */
const volumeKinds = [
  "name",
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/** What a guest asks for that the provider does not give to guests: no more than Kubernetes' baseline, and no priority. */
export function guestViolations(
  spec: PodSpec,
  allowed: readonly GuestPrivilege[] = [],
  annotations: Readonly<Record<string, string>> = {},
): string[] {
  const found: [GuestPrivilege | "never", string][] = [
    ...podViolations(spec),
    ...placeViolations(spec),
    ...neighbourViolations(spec),
    ...annotationViolations(annotations),
  ];
  for (const container of containersOf(spec)) found.push(...containerViolations(container, defaultCapabilities));
  for (const container of (spec.ephemeralContainers ?? []) as Container[])
    found.push(...containerViolations(container, debugCapabilities));
  return found.filter(([what]) => what === "never" || !allowed.includes(what)).map(([, text]) => text);
}

function containersOf({ initContainers = [], containers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

function podViolations(spec: PodSpec): [GuestPrivilege | "never", string][] {
  const found: [GuestPrivilege | "never", string][] = [];
  for (const field of ["hostNetwork", "hostPID", "hostIPC"] as const) {
    if (spec[field]) found.push([field, `${field} is not given to guests`]);
  }
  for (const volume of spec.volumes ?? []) {
    const kinds = Object.keys(volume).filter((kind) => volume[kind as keyof typeof volume] != null);
    if (kinds.some((kind) => !volumeKinds.includes(kind))) {
      found.push(["hostPath", `volume ${volume.name} is of a kind that is not given to guests`]);
    }
    if (
      volume.projected?.sources?.some((source) => Object.keys(source).some((kind) => !projectedKinds.includes(kind)))
    ) {
      found.push(["never", `volume ${volume.name} asks for a credential of the provider's API`]);
    }
    const claim = volume.ephemeral?.volumeClaimTemplate;
    // As claims of consumers may not, either.
    if (claim != null && chosenVolume(claim) !== undefined) {
      found.push(["never", `volume ${volume.name} chooses a volume that is there`]);
    }
  }
  const unsafe = (spec.securityContext?.sysctls ?? []).filter(({ name }) => !safeSysctls.includes(name));
  if (unsafe.length > 0) found.push(["sysctls", `sysctl ${unsafe.map(({ name }) => name).join(", ")}`]);
  found.push(...contextViolations("the pod", spec.securityContext ?? {}));
  return found;
}

const projectedKinds = ["configMap", "downwardAPI", "secret"];

function placeViolations(spec: PodSpec): [GuestPrivilege, string][] {
  const found: [GuestPrivilege, string][] = [];
  if (spec.nodeName) found.push(["nodeName", "nodeName: the provider chooses the node"]);
  if (spec.priorityClassName || (spec.priority ?? 0) > 0)
    found.push(["priority", "a priority over the provider's own pods"]);
  if ((spec.resourceClaims?.length ?? 0) > 0) found.push(["resourceClaims", "claims of devices"]);
  if (spec.tolerations?.some(({ key = "" }) => isReserved(key))) {
    found.push(["tolerations", "a toleration for nodes that the provider keeps for itself"]);
  }
  return found;
}

/** Nodes of a role, those that are to be empty, and those that stand for other sites; without a key it means all. */
function isReserved(taint: string): boolean {
  const prefixes = ["node-role.kubernetes.io/", "fjord.dev/"];
  return ["", "node.kubernetes.io/unschedulable"].includes(taint) || prefixes.some((each) => taint.startsWith(each));
}

/**
 * Terms about pods of other namespaces. An anti-affinity holds for the others too, so that one guest could keep the owner's
 * own pods from every node; and an affinity tells where they run.
 */
function neighbourViolations({ affinity }: PodSpec): ["never", string][] {
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ]);
  const reachesOut = terms.some(
    ({ namespaces, namespaceSelector }) => namespaceSelector != null || (namespaces ?? []).length > 0,
  );
  return reachesOut ? [["never", "an affinity to pods of other namespaces"]] : [];
}

/** Where Kubernetes still reads AppArmor's profile of a container, and takes it for the field. */
const APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";

function annotationViolations(annotations: Readonly<Record<string, string>>): [GuestPrivilege, string][] {
  return Object.entries(annotations)
    .filter(([name]) => name.startsWith(APPARMOR_PREFIX))
    .filter(([, profile]) => profile !== "runtime/default" && !profile.startsWith("localhost/"))
    .map(([name]) => ["privileged", `container ${name.slice(APPARMOR_PREFIX.length)} is without AppArmor`]);
}

function containerViolations(container: Container, capabilities: readonly string[]): [GuestPrivilege, string][] {
  const { name, securityContext: context = {} } = container;
  const found: [GuestPrivilege, string][] = contextViolations(`container ${name}`, context);
  found.push(...handlerViolations(container));
  if (context.privileged) found.push(["privileged", `container ${name} is privileged`]);
  const extra = (context.capabilities?.add ?? []).filter((each) => !capabilities.includes(each.replace(/^CAP_/, "")));
  if (extra.length > 0) found.push(["capabilities", `container ${name} adds capabilities ${extra.join(", ")}`]);
  if (context.procMount && context.procMount !== "Default")
    found.push(["procMount", `container ${name} unmasks /proc`]);
  if (container.ports?.some(({ hostPort = 0 }) => hostPort > 0)) {
    found.push(["hostPort", `container ${name} asks for a port of its node`]);
  }
  return found;
}

type Handler = { readonly httpGet?: { readonly host?: string }; readonly tcpSocket?: { readonly host?: string } };

/**
 * A probe or hook is asked for by the node, from its own network, where 127.0.0.1 is the node and a name may be too. Pods
 * have addresses.
 */
function handlerViolations(container: Container): [GuestPrivilege, string][] {
  const { name, livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  const handlers: (Handler | null | undefined)[] = [
    livenessProbe,
    readinessProbe,
    startupProbe,
    lifecycle?.postStart,
    lifecycle?.preStop,
  ];
  const hosts = handlers.flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host]);
  return hosts.some((host) => host && addressOf(host) === undefined)
    ? [["hostNetwork", `container ${name} has its node ask for another host`]]
    : [];
}

interface Confinement {
  seLinuxOptions?: { type?: string; user?: string; role?: string };
  seccompProfile?: { type: string };
  appArmorProfile?: { type: string };
  windowsOptions?: { hostProcess?: boolean };
}

function contextViolations(who: string, context: Confinement): [GuestPrivilege, string][] {
  const found: [GuestPrivilege, string][] = [];
  const { seLinuxOptions: options, seccompProfile, appArmorProfile, windowsOptions } = context;
  if (options && (!seLinuxTypes.includes(options.type ?? "") || options.user || options.role)) {
    found.push(["seLinux", `${who} chooses its SELinux label`]);
  }
  if (seccompProfile?.type === "Unconfined") found.push(["privileged", `${who} is without seccomp`]);
  if (appArmorProfile?.type === "Unconfined") found.push(["privileged", `${who} is without AppArmor`]);
  if (windowsOptions?.hostProcess) found.push(["privileged", `${who} is a process of the host`]);
  return found;
}
