import type { IPodSecurityContext } from "kubernetes-models/v1/PodSecurityContext";
import type { ISecurityContext } from "kubernetes-models/v1/SecurityContext";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { between } from "../values/name.ts";
import { validateDescendingPath } from "./file-path.ts";

const largestId = 2 ** 31 - 1;
const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const sysctlPattern = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

export function validateSecurityContext(
  context: Draft<ISecurityContext> | undefined,
  hostUsers: boolean,
  path: string,
): FieldError[] {
  if (context === undefined) return [];
  const { runAsUser, runAsGroup, procMount, allowPrivilegeEscalation, privileged, capabilities } = context;
  const errors = [...validateId(runAsUser, `${path}.runAsUser`), ...validateId(runAsGroup, `${path}.runAsGroup`)];
  if (procMount !== undefined) {
    const kinds = ["Default", "Unmasked"];
    if (!kinds.includes(procMount)) errors.push(notSupported(`${path}.procMount`, procMount, kinds));
    if (hostUsers && procMount === "Unmasked") {
      errors.push(invalidField(`${path}.procMount`, procMount, "`hostUsers` must be false to use `Unmasked`"));
    }
  }
  errors.push(...validateSeccomp(context.seccompProfile, `${path}.seccompProfile`));
  if (allowPrivilegeEscalation === false) {
    const because = "cannot set `allowPrivilegeEscalation` to false and";
    if (privileged) errors.push(invalidField(path, context, `${because} \`privileged\` to true`));
    if (capabilities?.add?.includes("CAP_SYS_ADMIN")) {
      errors.push(invalidField(path, context, `${because} \`capabilities.Add\` CAP_SYS_ADMIN`));
    }
  }
  return [...errors, ...validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`)];
}

function validateId(id: number | undefined, path: string): FieldError[] {
  return id === undefined || (id >= 0 && id <= largestId) ? [] : [invalidField(path, id, between(0, largestId))];
}

type Profile = { type?: string; localhostProfile?: string } | undefined;

function validateSeccomp(profile: Profile, path: string): FieldError[] {
  if (profile === undefined) return [];
  const { type = "", localhostProfile } = profile;
  const errors: FieldError[] = [];
  if (type === "") errors.push(required(`${path}.type`, "type is required when seccompProfile is set"));
  else if (!profileTypes.includes(type)) errors.push(notSupported(`${path}.type`, type, profileTypes));
  if (type === "Localhost") {
    if (localhostProfile === undefined) {
      errors.push(required(`${path}.localhostProfile`, "must be set when seccomp type is Localhost"));
    } else errors.push(...validateDescendingPath(localhostProfile, `${path}.localhostProfile`));
  } else if (localhostProfile !== undefined) {
    const text = "can only be set when seccomp type is Localhost";
    errors.push(invalidField(`${path}.localhostProfile`, { Type: type, LocalhostProfile: localhostProfile }, text));
  }
  return errors;
}

function validateAppArmor(profile: Profile, path: string): FieldError[] {
  if (profile === undefined) return [];
  const { type = "", localhostProfile } = profile;
  const at = `${path}.localhostProfile`;
  const mustBeSet = required(at, "must be set when AppArmor type is Localhost");
  if (type === "") return [required(`${path}.type`, "type is required when appArmorProfile is set")];
  if (!profileTypes.includes(type)) return [notSupported(`${path}.type`, type, profileTypes)];
  if (type !== "Localhost") {
    if (localhostProfile === undefined) return [];
    return [invalidField(at, localhostProfile, "can only be set when AppArmor type is Localhost")];
  }
  if (localhostProfile === undefined) return [mustBeSet];
  const errors: FieldError[] = [];
  if (localhostProfile.trim() !== localhostProfile) {
    errors.push(invalidField(at, localhostProfile, "must not be padded with whitespace"));
  } else if (localhostProfile === "") errors.push(mustBeSet);
  if (localhostProfile.length > 4095) errors.push(tooLong(at, 4095));
  return errors;
}

/** What the pod as a whole may say; some of it is in the spec itself. */
export function validatePodSecurityContext(
  context: Draft<IPodSecurityContext> | undefined,
  spec: { hostPID?: boolean; hostNetwork?: boolean; hostIPC?: boolean; shareProcessNamespace?: boolean },
  path: string,
): FieldError[] {
  const { fsGroup, runAsUser, runAsGroup, supplementalGroups = [] } = context ?? {};
  const errors = [
    ...validateId(fsGroup, `${path}.fsGroup`),
    ...validateId(runAsUser, `${path}.runAsUser`),
    ...validateId(runAsGroup, `${path}.runAsGroup`),
    ...supplementalGroups.flatMap((id, i) => validateId(id, `${path}.supplementalGroups[${i}]`)),
  ];
  if (spec.shareProcessNamespace && spec.hostPID) {
    const text = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.push(invalidField(`${path}.shareProcessNamespace`, true, text));
  }
  errors.push(...validateSysctls(context?.sysctls ?? [], spec, `${path}.sysctls`));
  errors.push(
    ...validateChoice(context?.fsGroupChangePolicy, ["Always", "OnRootMismatch"], `${path}.fsGroupChangePolicy`),
  );
  errors.push(...validateSeccomp(context?.seccompProfile, `${path}.seccompProfile`));
  errors.push(...validateAppArmor(context?.appArmorProfile, `${path}.appArmorProfile`));
  const groups = context?.supplementalGroupsPolicy;
  errors.push(...validateChoice(groups, ["Merge", "Strict"], `${path}.supplementalGroupsPolicy`));
  const labels = context?.seLinuxChangePolicy;
  return [...errors, ...validateChoice(labels, ["MountOption", "Recursive"], `${path}.seLinuxChangePolicy`)];
}

function validateChoice(choice: string | undefined, choices: readonly string[], path: string): FieldError[] {
  return choice === undefined || choices.includes(choice) ? [] : [notSupported(path, choice, choices)];
}

function validateSysctls(
  sysctls: readonly { name?: string }[],
  spec: { hostNetwork?: boolean; hostIPC?: boolean },
  path: string,
): FieldError[] {
  const seen = new Set<string>();
  return sysctls.flatMap(({ name = "" }, i) => {
    const at = `${path}[${i}].name`;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(at));
    else if (name.length > 253 || !new RegExp(sysctlPattern).test(name)) {
      errors.push(invalidField(at, name, `must have at most 253 characters and match regex ${sysctlPattern}`));
    } else if (seen.has(name)) errors.push(duplicate(at, name));
    const dotted = name.replaceAll("/", ".");
    if (spec.hostNetwork && dotted.startsWith("net.")) {
      errors.push(invalidField(at, name, "may not be specified when 'hostNetwork' is true"));
    } else if (spec.hostIPC && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted)) {
      errors.push(invalidField(at, name, "may not be specified when 'hostIPC' is true"));
    }
    seen.add(name);
    return errors;
  });
}
