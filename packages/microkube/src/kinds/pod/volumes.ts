import type { IVolume } from "kubernetes-models/v1/Volume";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { validateClaimSpec } from "../core/claim-spec.ts";
import type { Draft } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";
import { amountOf } from "../values/quantity.ts";
import { validateDescendingPath, validateFileMode, validateNoBacksteps } from "./file-path.ts";
import { validateDownwardFile, validateKeyToPath, validateProjected } from "./projected-volume.ts";

export type Volume = Draft<IVolume>;
type Source = Exclude<keyof IVolume, "name">;

/** In the order that the real server looks at them; only the first of several is looked at in earnest. */
const sources: readonly Source[] = [
  "emptyDir",
  "hostPath",
  "gitRepo",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "secret",
  "nfs",
  "iscsi",
  "glusterfs",
  "flocker",
  "persistentVolumeClaim",
  "rbd",
  "cinder",
  "cephfs",
  "quobyte",
  "downwardAPI",
  "fc",
  "flexVolume",
  "configMap",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "storageos",
  "projected",
  "scaleIO",
  "csi",
  "ephemeral",
  "image",
];

export interface VolumesFound {
  /** Volumes without a mistake, by name: what containers may mount. */
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly errors: FieldError[];
}

export function validateVolumes(
  volumes: readonly Volume[] | undefined,
  podName: string | undefined,
  path: string,
): VolumesFound {
  const found = new Map<string, Volume>();
  const errors: FieldError[] = [];
  const made = new Set(
    (volumes ?? []).filter((one) => podName && one.ephemeral).map(({ name }) => `${podName}-${name}`),
  );
  for (const [i, volume] of (volumes ?? []).entries()) {
    const at = `${path}[${i}]`;
    const { name = "" } = volume;
    const own = validateSource(volume, podName, at);
    if (name === "") own.push(required(`${at}.name`));
    else own.push(...dnsLabel(name).map((text) => invalidField(`${at}.name`, name, text)));
    if (found.has(name)) own.push(duplicate(`${at}.name`, name));
    if (own.length === 0) found.set(name, volume);
    errors.push(...own);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && made.has(claim)) {
      const text = "must not reference a PVC that gets created for an ephemeral volume";
      errors.push(invalidField(`${at}.persistentVolumeClaim.claimName`, claim, text));
    }
  }
  return { volumes: found, errors };
}

function validateSource(volume: Volume, podName: string | undefined, path: string): FieldError[] {
  const set = sources.filter((source) => volume[source] !== undefined);
  const first = set[0];
  if (first === undefined) return [required(path, "must specify a volume type")];
  const more = set
    .slice(1)
    .map((source) => forbiddenField(`${path}.${source}`, "may not specify more than 1 volume type"));
  return [...(checks[first]?.(volume, path, podName) ?? []), ...more];
}

type Check = (volume: Volume, path: string, podName: string | undefined) => FieldError[];
const requireFields = (holder: object | undefined, path: string, ...names: string[]): FieldError[] =>
  names.filter((name) => !(holder as Record<string, unknown>)?.[name]).map((name) => required(`${path}.${name}`));

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

const checks: Partial<Record<Source, Check>> = {
  emptyDir({ emptyDir }, path) {
    if (amountOf(emptyDir?.sizeLimit) >= 0n) return [];
    return [forbiddenField(`${path}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity")];
  },
  hostPath({ hostPath }, path) {
    const { path: target = "", type } = hostPath ?? {};
    if (target === "") return [required(`${path}.hostPath.path`)];
    const errors = validateNoBacksteps(target, `${path}.hostPath.path`);
    if (type === undefined || hostPathTypes.includes(type)) return errors;
    return [...errors, notSupported(`${path}.hostPath.type`, type, hostPathTypes)];
  },
  gitRepo: ({ gitRepo }, path) => [
    ...requireFields(gitRepo, `${path}.gitRepo`, "repository"),
    ...validateDescendingPath(gitRepo?.directory ?? "", `${path}.gitRepo.directory`),
  ],
  secret: ({ secret }, path) => [
    ...requireFields(secret, `${path}.secret`, "secretName"),
    ...validateFileMode(secret?.defaultMode, `${path}.secret.defaultMode`),
    ...(secret?.items ?? []).flatMap((item, i) => validateKeyToPath(item, `${path}.secret.items[${i}]`)),
  ],
  configMap: ({ configMap }, path) => [
    ...requireFields(configMap, `${path}.configMap`, "name"),
    ...validateFileMode(configMap?.defaultMode, `${path}.configMap.defaultMode`),
    ...(configMap?.items ?? []).flatMap((item, i) => validateKeyToPath(item, `${path}.configMap.items[${i}]`)),
  ],
  nfs({ nfs }, path) {
    const errors = requireFields(nfs, `${path}.nfs`, "server", "path");
    const target = nfs?.path ?? "";
    return target.startsWith("/")
      ? errors
      : [...errors, invalidField(`${path}.nfs.path`, target, "must be an absolute path")];
  },
  iscsi: ({ iscsi }, path) => requireFields(iscsi, `${path}.iscsi`, "targetPortal", "iqn"),
  persistentVolumeClaim: (volume, path) =>
    requireFields(volume.persistentVolumeClaim, `${path}.persistentVolumeClaim`, "claimName"),
  downwardAPI: ({ downwardAPI }, path) => [
    ...validateFileMode(downwardAPI?.defaultMode, `${path}.downwardAPI.defaultMode`),
    ...(downwardAPI?.items ?? []).flatMap((file) => validateDownwardFile(file, `${path}.downwardAPI`)),
  ],
  projected: ({ projected }, path) => validateProjected(projected ?? {}, `${path}.projected`),
  csi({ csi }, path) {
    const errors = validateDriverName(csi?.driver, `${path}.csi.driver`);
    const reference = csi?.nodePublishSecretRef;
    if (reference === undefined) return errors;
    if (!reference.name) return [...errors, required(`${path}.csi.nodePublishSecretRef.name`)];
    return [
      ...errors,
      ...dnsSubdomain(reference.name).map((text) => invalidField(`${path}.csi.name`, reference.name, text)),
    ];
  },
  ephemeral({ ephemeral, name }, path, podName) {
    const template = ephemeral?.volumeClaimTemplate;
    if (template === undefined) return [required(`${path}.ephemeral.volumeClaimTemplate`)];
    const errors = validateClaimSpec(template.spec ?? {}, `${path}.ephemeral.volumeClaimTemplate.spec`);
    if (!podName || !name) return errors;
    const claim = `${podName}-${name}`;
    const texts = dnsSubdomain(claim).map((text) => `PVC name "${claim}": ${text}`);
    return [...errors, ...texts.map((text) => invalidField(`${path}.name`, name, text))];
  },
  image({ image }, path, podName) {
    const errors: FieldError[] = [];
    if (podName !== undefined && !image?.reference) errors.push(required(`${path}.image.reference`));
    return [...errors, ...validatePullPolicy(image?.pullPolicy, `${path}.image.pullPolicy`)];
  },
};

const pullPolicies = ["Always", "IfNotPresent", "Never"];

export function validatePullPolicy(policy: string | undefined, path: string): FieldError[] {
  if (!policy) return [required(path)];
  return pullPolicies.includes(policy) ? [] : [notSupported(path, policy, pullPolicies)];
}

export function validateDriverName(name: string | undefined, path: string): FieldError[] {
  if (!name) return [required(path)];
  const errors = name.length > 63 ? [tooLong(path, 63)] : [];
  return [...errors, ...dnsSubdomain(name.toLowerCase()).map((text) => invalidField(path, name, text))];
}
