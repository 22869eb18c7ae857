import { isGoodSeccomp, seccompBaseline } from "./baseline-checks.ts";
import {
  type Container,
  containersOf,
  named,
  namesWhere,
  type PodCheck,
  type PodSpec,
  quoted,
  setters,
  sortedSet,
} from "./violation.ts";

/** What is about Linux does not concern pods that say they are for Windows. */
export const unlessWindows =
  (check: PodCheck): PodCheck =>
  (metadata, spec) =>
    spec.os?.name === "windows" ? undefined : check(metadata, spec);

/** Root in a user namespace of its own is root nowhere else. */
export const unlessUserNamespace =
  (check: PodCheck): PodCheck =>
  (metadata, spec) =>
    spec.hostUsers === false ? undefined : check(metadata, spec);

export const allowPrivilegeEscalation: PodCheck = (_, spec) => {
  const bad = namesWhere(spec, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (bad.length === 0) return undefined;
  const detail = `${named("container", bad)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: "allowPrivilegeEscalation != false", detail };
};

export const capabilitiesRestricted: PodCheck = (_, spec) => {
  const keeping = namesWhere(spec, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes("ALL"));
  const added = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((one) => one !== "NET_BIND_SERVICE");
  const adding = containersOf(spec).filter((container) => added(container).length > 0);
  const details: string[] = [];
  if (keeping.length > 0) {
    details.push(`${named("container", keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  }
  if (adding.length > 0) {
    const names = adding.map(({ name }) => name);
    const what = quoted(sortedSet(adding.flatMap(added)));
    details.push(`${named("container", names)} must not include ${what} in securityContext.capabilities.add`);
  }
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
};

const goodVolumes = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
] as const;

const badVolumes = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "nfs",
  "iscsi",
  "glusterfs",
  "rbd",
  "flexVolume",
  "cinder",
  "cephfs",
  "flocker",
  "fc",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "storageos",
] as const;

export const restrictedVolumes: PodCheck = (_, { volumes = [] }) => {
  type Volume = NonNullable<PodSpec["volumes"]>[number];
  const has = (volume: Volume, type: string) => (volume as unknown as Record<string, unknown>)[type] !== undefined;
  const bad = volumes.filter((volume) => !goodVolumes.some((type) => has(volume, type)));
  if (bad.length === 0) return undefined;
  const types = sortedSet(bad.map((volume) => badVolumes.find((type) => has(volume, type)) ?? "unknown"));
  const names = bad.map(({ name }) => name);
  const use = `${names.length === 1 ? "uses" : "use"} ${named("restricted volume type", types)}`;
  return { reason: "restricted volume types", detail: `${named("volume", names)} ${use}` };
};

export const runAsNonRoot: PodCheck = (_, spec) => {
  const pod = spec.securityContext?.runAsNonRoot;
  const reason = "runAsNonRoot != true";
  const bad = namesWhere(spec, ({ securityContext }) => securityContext?.runAsNonRoot === false);
  const all = setters(pod === false, bad);
  if (all.length > 0) {
    return { reason, detail: `${all.join(" and ")} must not set securityContext.runAsNonRoot=false` };
  }
  if (pod === true) return undefined;
  const silent = namesWhere(spec, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${named("container", silent)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: PodCheck = (_, spec) => {
  const bad = namesWhere(spec, ({ securityContext }) => securityContext?.runAsUser === 0);
  const all = setters(spec.securityContext?.runAsUser === 0, bad);
  return all.length === 0
    ? undefined
    : { reason: "runAsUser=0", detail: `${all.join(" and ")} must not set runAsUser=0` };
};

export const seccompRestricted: PodCheck = (metadata, spec) => {
  const violation = seccompBaseline(metadata, spec);
  if (violation !== undefined || isGoodSeccomp(spec.securityContext?.seccompProfile?.type)) return violation;
  const silent = namesWhere(spec, ({ securityContext }) => securityContext?.seccompProfile === undefined);
  if (silent.length === 0) return undefined;
  const must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"';
  return { reason: "seccompProfile", detail: `pod or ${named("container", silent)} ${must}` };
};
