import type { Pod } from "@fjord/kube";
import { firstContainers } from "../../environment/pod-containers.ts";
import type { MachineAbilities } from "./container-setup.ts";
import { beyondBounding } from "./privileges.ts";
import { findTool } from "./tools.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

/** What this machine has, as far as objections depend on it. */
export interface ObjectionFacts extends Pick<MachineAbilities, "root" | "namespace" | "bounding"> {
  /** Of the node's process. */
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly hasTool: (name: string) => boolean;
}

const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

export function objectionFacts(abilities: MachineAbilities): ObjectionFacts {
  return {
    root: abilities.root,
    namespace: abilities.namespace,
    bounding: abilities.bounding,
    uid: process.geteuid?.() ?? 0,
    gid: process.getegid?.() ?? 0,
    groups: process.getgroups?.() ?? [],
    hasTool: (name) => findTool(name) !== undefined,
  };
}

/** What of a pod, but for its ephemeral containers, plain processes can not honour, a sentence for each. */
export function objectionsTo(pod: Pod, facts: ObjectionFacts): string[] {
  const { spec } = pod;
  if (!spec) return [];
  return [
    ...podObjections(spec, facts),
    ...firstContainers(pod).flatMap((container) => objectionsToContainer(pod, container, facts)),
  ];
}

/** What of one container of a pod, of whatever sort, plain processes can not honour. */
export function objectionsToContainer({ spec }: Pod, container: Container, facts: ObjectionFacts): string[] {
  if (!spec) return [];
  return [
    ...containerObjections(container, spec),
    ...securityObjections(container, spec, facts),
    ...mountObjections(container, facts),
  ];
}

function podObjections(spec: PodSpec, facts: ObjectionFacts): string[] {
  const result: string[] = [];
  const { securityContext } = spec;
  if (spec.os?.name !== undefined && spec.os.name !== "linux")
    result.push(`Processes of this machine are Linux's, not ${spec.os.name}'s.`);
  if (spec.hostUsers === false) result.push("Processes share the machine's users; hostUsers: false is not possible.");
  if ((securityContext?.sysctls ?? []).length > 0) {
    result.push("Processes share the machine's kernel settings; sysctls are not possible.");
  }
  if ((spec.resourceClaims ?? []).length > 0) result.push("Resource claims are not possible for processes.");
  for (const volume of spec.volumes ?? []) {
    if (volume.image) result.push(`Volume ${volume.name} is an image; the process runtime has no images.`);
  }
  if (!facts.root) {
    const groups = (securityContext?.supplementalGroups ?? []).filter((group) => group !== facts.gid);
    if (groups.length > 0)
      result.push(`The node is not root and cannot give processes the groups ${groups.join(", ")}.`);
    const own = facts.groups.filter((group) => group !== facts.gid);
    if (securityContext?.supplementalGroupsPolicy === "Strict" && own.length > 0) {
      result.push(`The node is not root and cannot take its own groups ${own.join(", ")} away from processes.`);
    }
    if (securityContext?.fsGroup !== undefined && securityContext.fsGroup !== facts.gid) {
      result.push(`The node is not root and cannot give volumes to group ${securityContext.fsGroup}.`);
    }
  }
  if (facts.namespace === "none") {
    if ((spec.hostAliases ?? []).length > 0) {
      result.push("This machine permits no mount namespaces, so hostAliases cannot be shown to processes.");
    }
    if (spec.dnsPolicy === "None" || spec.dnsConfig) {
      result.push(
        "This machine permits no mount namespaces, so processes cannot have a DNS configuration of their own.",
      );
    }
  }
  return result;
}

function containerObjections(container: Container, spec: PodSpec): string[] {
  const { name } = container;
  const result: string[] = [];
  if ((container.command ?? []).length === 0) {
    result.push(
      `Container ${name} names no command; the process runtime runs programs of this machine, and an image is only a label to it.`,
    );
  }
  for (const port of container.ports ?? []) {
    if (port.hostPort && !spec.hostNetwork) {
      result.push(
        `Container ${name} asks for port ${port.hostPort} of the host, which is not forwarded to processes; use hostNetwork.`,
      );
    }
  }
  const limits = Object.keys(container.resources?.limits ?? {});
  for (const limit of limits.filter((each) => each.startsWith("hugepages-"))) {
    result.push(`Container ${name} asks for ${limit}, which processes cannot be given.`);
  }
  if ((container.resources?.claims ?? []).length > 0) {
    result.push(`Container ${name} has resource claims, which are not possible for processes.`);
  }
  if ((container.volumeDevices ?? []).length > 0) {
    result.push(`Container ${name} asks for block devices, which are not possible for processes.`);
  }
  return result;
}

function securityObjections(container: Container, spec: PodSpec, facts: ObjectionFacts): string[] {
  const { name, securityContext: own } = container;
  const pod = spec.securityContext;
  const result: string[] = [];
  if (own?.seLinuxOptions ?? pod?.seLinuxOptions)
    result.push(`Container ${name} has seLinuxOptions, which are not set for processes.`);
  if (own?.windowsOptions ?? pod?.windowsOptions)
    result.push(`Container ${name} has windowsOptions, and this is Linux.`);
  for (const kind of ["seccompProfile", "appArmorProfile"] as const) {
    const profile = own?.[kind] ?? pod?.[kind];
    if (profile?.type === "Localhost")
      result.push(`Container ${name} has a ${kind} of its own, which processes are not given.`);
  }
  const user = own?.runAsUser ?? pod?.runAsUser;
  const group = own?.runAsGroup ?? pod?.runAsGroup;
  const runsAs = user ?? facts.uid;
  if ((own?.runAsNonRoot ?? pod?.runAsNonRoot) && runsAs === 0) {
    result.push(`Container ${name} must not run as root, but would: give it a runAsUser.`);
  }
  const added = own?.capabilities?.add ?? [];
  if (facts.root) {
    const missing = beyondBounding(added, facts.bounding);
    if (missing.length > 0) {
      result.push(`Container ${name} asks for ${missing.join(", ")}, which the node itself does not have.`);
    }
    if (!facts.hasTool("setpriv") && !own?.privileged) {
      result.push(
        `Container ${name} is not privileged, and this machine has no setpriv to take root's privileges away.`,
      );
    }
  } else {
    if (user !== undefined && user !== facts.uid) {
      result.push(
        `Container ${name} is to run as user ${user}, but the node is not root and runs processes as ${facts.uid}.`,
      );
    }
    if (group !== undefined && group !== facts.gid) {
      result.push(
        `Container ${name} is to run as group ${group}, but the node is not root and runs processes as ${facts.gid}.`,
      );
    }
    if (own?.privileged) result.push(`Container ${name} is privileged, but the node is not root.`);
    if (added.length > 0) result.push(`Container ${name} asks for ${added.join(", ")}, but the node is not root.`);
    if (own?.allowPrivilegeEscalation === false && !facts.hasTool("setpriv")) {
      result.push(`Container ${name} must not gain privileges, and this machine has no setpriv to see to it.`);
    }
  }
  if (own?.readOnlyRootFilesystem && facts.namespace === "none") {
    result.push(`Container ${name} asks for a read-only root, but this machine permits no mount namespaces.`);
  }
  if ((container.tty ?? false) && !facts.hasTool("script")) {
    result.push(`Container ${name} asks for a terminal, and this machine has no program script to make one.`);
  }
  return result;
}

function mountObjections(container: Container, facts: ObjectionFacts): string[] {
  const result: string[] = [];
  for (const mount of container.volumeMounts ?? []) {
    const what = `Container ${container.name} mounts volume ${mount.name}`;
    if (mount.mountPropagation === "Bidirectional")
      result.push(`${what} with bidirectional propagation, which is not possible for processes.`);
    if (mount.recursiveReadOnly === "Enabled")
      result.push(`${what} read-only with everything below, which is not possible for processes.`);
    if (facts.namespace !== "none" || mount.mountPath.startsWith(TOKEN_PATH)) continue;
    const work = container.workingDir;
    if (work !== undefined && work !== "" && mount.mountPath.startsWith(`${work.replace(/\/$/, "")}/`)) continue;
    result.push(
      `${what} at ${mount.mountPath}, but this machine permits no mount namespaces: only paths below the container's workingDir are possible.`,
    );
  }
  return result;
}
