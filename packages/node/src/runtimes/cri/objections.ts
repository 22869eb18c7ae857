import type { Pod } from "@fjord/kube";
import { type Container, firstContainers } from "../../environment/pod-containers.ts";
import { plainName } from "../../machine/capabilities.ts";
import type { Mount, RuntimeVersion, SecurityConfig } from "../../runtime/index.ts";

/** What a runtime and its machine can enforce. Absent: not known yet, and no reason to refuse a pod for good. */
export interface RuntimeAbilities {
  readonly version?: RuntimeVersion;
  readonly recursiveReadOnly?: boolean;
  readonly strictSupplementalGroups?: boolean;
  /** Of the machine. */
  readonly appArmor: boolean;
  readonly seLinux: boolean;
  /** Those of its kernel. */
  readonly capabilities?: ReadonlySet<string>;
}

/** First releases that heed a field of pods; those before skip it without a word. */
const since = {
  imageVolumes: { containerd: [2, 1], "cri-o": [1, 31] },
  userNamespaces: { containerd: [2, 0], "cri-o": [1, 25] },
  stopSignal: { containerd: [2, 3], "cri-o": [1, 34] },
} as const;

/** What of a pod, but for its ephemeral containers, cannot be honoured over CRI here, a sentence for each. Pure. */
export function podObjections(pod: Pod, abilities: RuntimeAbilities): string[] {
  const spec = pod.spec;
  if (spec === undefined) return [];
  const { version } = abilities;
  const runtime = nameOf(version);
  const objections: string[] = [];
  if (spec.hostUsers === false) {
    const why = isKnown(version, since.userNamespaces) ? "this node gives to no pod" : `${runtime} does not support`;
    objections.push(`the pod asks for a user namespace of its own (hostUsers: false), which ${why}`);
  }
  if ((spec.resourceClaims?.length ?? 0) > 0) {
    objections.push("the pod claims devices (resourceClaims), and this node has no driver for any");
  }
  if (spec.securityContext?.supplementalGroupsPolicy === "Strict" && abilities.strictSupplementalGroups === false) {
    objections.push(`${runtime} cannot keep an image's groups away (supplementalGroupsPolicy: Strict)`);
  }
  for (const volume of spec.volumes ?? []) {
    if (volume.image === undefined || isKnown(version, since.imageVolumes)) continue;
    objections.push(`volume "${volume.name}" is an image, which ${runtime} cannot mount`);
  }
  objections.push(...profileObjections("the pod", spec.securityContext, abilities));
  for (const container of firstContainers(pod)) objections.push(...containerObjections(container, abilities));
  return objections;
}

/** What of one container, of whatever sort, cannot be honoured over CRI here. Pure. */
export function containerObjections(container: Container, abilities: RuntimeAbilities): string[] {
  const runtime = nameOf(abilities.version);
  const who = `container "${container.name}"`;
  const objections = profileObjections(who, container.securityContext, abilities);
  const unknown = unknownCapabilities(container, abilities);
  if (unknown.length > 0) {
    objections.push(`${who} asks for ${unknown.join(", ")}, and this machine has no such capability`);
  }
  const { stopSignal } = container.lifecycle ?? {};
  if (stopSignal !== undefined && !isKnown(abilities.version, since.stopSignal)) {
    objections.push(`${who} is to be stopped by ${stopSignal}, and ${runtime} only knows the image's own signal`);
  }
  for (const mount of container.volumeMounts ?? []) {
    if (mount.recursiveReadOnly !== "Enabled" || abilities.recursiveReadOnly !== false) continue;
    objections.push(`${who} mounts ${mount.mountPath} read-only with all below it, which ${runtime} cannot do`);
  }
  return objections;
}

/** runc leaves those out that it does not know, and says so to nobody. */
function unknownCapabilities({ securityContext }: Container, { capabilities }: RuntimeAbilities): string[] {
  if (capabilities === undefined) return [];
  const added = securityContext?.capabilities?.add ?? [];
  return added.filter((name) => plainName(name) !== "ALL" && !capabilities.has(plainName(name)));
}

interface Profiles {
  readonly appArmorProfile?: { readonly type?: string };
  readonly seLinuxOptions?: { readonly user?: string; readonly role?: string; readonly type?: string };
  readonly windowsOptions?: object;
}

function profileObjections(who: string, context: Profiles | undefined, abilities: RuntimeAbilities): string[] {
  const objections: string[] = [];
  const type = context?.appArmorProfile?.type;
  if (type !== undefined && type !== "Unconfined" && !abilities.appArmor) {
    objections.push(`${who} asks for an AppArmor profile, and this machine has no AppArmor`);
  }
  // A level alone is of use among labelled pods and volumes only; clusters set it on every pod, with SELinux or without.
  const { user, role, type: domain } = context?.seLinuxOptions ?? {};
  if ((user ?? role ?? domain) !== undefined && !abilities.seLinux) {
    objections.push(`${who} asks for an SELinux context, and this machine has no SELinux`);
  }
  // Pods that say that they are for Linux cannot have them, and those for Windows are not let in: these say neither.
  if (Object.keys(context?.windowsOptions ?? {}).length > 0) {
    objections.push(`${who} has windowsOptions, and this machine runs Linux`);
  }
  return objections;
}

function nameOf(version: RuntimeVersion | undefined): string {
  return version === undefined ? "the container runtime" : `${version.name} ${version.version}`;
}

type Releases = Readonly<Record<string, readonly [major: number, minor: number]>>;

/** Whether a version has what came with some release. Of other runtimes it is not known that they have not. */
function isKnown(version: RuntimeVersion | undefined, releases: Releases): boolean {
  const first = version && releases[version.name];
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version?.version ?? "") ?? [];
  if (first === undefined || major === undefined || minor === undefined) return true;
  return Number(major) > first[0] || (Number(major) === first[0] && Number(minor) >= first[1]);
}

/** What of a sandbox or container would be ignored, after all: the last look before it is made. */
export function configurationObjection(
  abilities: RuntimeAbilities,
  config: { readonly security: SecurityConfig; readonly mounts?: readonly Mount[] },
): string | undefined {
  if (config.security.supplementalGroupsPolicy === "Strict" && abilities.strictSupplementalGroups === false) {
    return "the runtime cannot keep an image's groups away (supplementalGroupsPolicy: Strict)";
  }
  const mount = config.mounts?.find(({ recursiveReadOnly }) => recursiveReadOnly === true);
  if (mount === undefined || abilities.recursiveReadOnly !== false) return undefined;
  return `the runtime cannot mount ${mount.containerPath} read-only with all below it`;
}
