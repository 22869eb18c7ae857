import type { IPodSpec } from "kubernetes-models/v1/PodSpec";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { validateIp } from "../values/ip-address.ts";
import { qualifiedName, validateLabels } from "../values/label.ts";
import { between, dnsLabel, dnsSubdomain, type NameRule } from "../values/name.ts";
import { validateAffinity } from "./affinity.ts";
import { validateResourceRequirements } from "./container-resources.ts";
import { validateContainers, validateEphemeralContainers, validateInitContainers } from "./containers.ts";
import { validateDns } from "./pod-dns.ts";
import { validatePodSecurityContext } from "./security-context.ts";
import { validateTolerations } from "./toleration.ts";
import { validateTopologySpread } from "./topology-spread.ts";
import { validateVolumes } from "./volumes.ts";

export type PodSpec = Draft<IPodSpec>;
const largestInt = 2 ** 31 - 1;

/** Of a pod (then with its name) or of a template. */
export function validatePodSpec(spec: PodSpec, path: string, pod?: { name: string }): FieldError[] {
  const { volumes, errors } = validateVolumes(spec.volumes, pod?.name, `${path}.volumes`);
  const setting = { spec, volumes };
  errors.push(
    ...validateResourceClaims(spec, `${path}.resourceClaims`),
    ...validateContainers(setting, `${path}.containers`),
    ...validateInitContainers(setting, `${path}.initContainers`),
    ...validateEphemeralContainers(setting, `${path}.ephemeralContainers`),
    ...validatePodResources(spec, `${path}.resources`),
    ...validateHostNetwork(spec, path, pod !== undefined),
    ...validateChoice(spec.restartPolicy, ["Always", "OnFailure", "Never"], `${path}.restartPolicy`),
    ...validateChoice(
      spec.dnsPolicy,
      ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
      `${path}.dnsPolicy`,
    ),
    ...validateLabels(spec.nodeSelector as Record<string, string> | undefined, `${path}.nodeSelector`),
    ...validatePodSecurityContext(spec.securityContext, spec, `${path}.securityContext`),
    ...validateAffinity(spec.affinity, `${path}.affinity`),
    ...validateDns(spec, `${path}.dnsConfig`),
    ...validateGates(spec, path),
    ...validateTopologySpread(spec.topologySpreadConstraints, `${path}.topologySpreadConstraints`),
    ...validateHostUsers(spec, path),
    ...validateHostnameOverride(spec, `${path}.hostnameOverride`),
    ...named(spec.serviceAccountName, dnsSubdomain, `${path}.serviceAccountName`),
    ...named(spec.nodeName, dnsSubdomain, `${path}.nodeName`),
  );
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > largestInt)) {
    errors.push(invalidField(`${path}.activeDeadlineSeconds`, deadline, between(1, largestInt)));
  }
  errors.push(
    ...named(spec.hostname, dnsLabel, `${path}.hostname`),
    ...named(spec.subdomain, dnsLabel, `${path}.subdomain`),
    ...validateTolerations(spec.tolerations, `${path}.tolerations`),
    ...validateHostAliases(spec, `${path}.hostAliases`),
    ...named(spec.priorityClassName, dnsSubdomain, `${path}.priorityClassName`),
    ...(spec.runtimeClassName === undefined
      ? []
      : dnsSubdomain(spec.runtimeClassName).map((text) =>
          invalidField(`${path}.runtimeClassName`, spec.runtimeClassName, text),
        )),
  );
  if (spec.preemptionPolicy !== undefined) {
    const known = ["PreemptLowerPriority", "Never"];
    errors.push(...validateChoice(spec.preemptionPolicy, known, `${path}.preemptionPolicy`));
  }
  if (spec.overhead !== undefined) {
    errors.push(...validateResourceRequirements({ limits: spec.overhead }, [], `${path}.overhead`));
  }
  return [...errors, ...validateOs(spec, path), ...validateFileReferences(spec, path)];
}

export function named(name: string | undefined, rule: NameRule, path: string): FieldError[] {
  return name ? rule(name).map((text) => invalidField(path, name, text)) : [];
}

function validateChoice(choice: string | undefined, choices: readonly string[], path: string): FieldError[] {
  if (!choice) return [required(path)];
  return choices.includes(choice) ? [] : [notSupported(path, choice, choices)];
}

function validateResourceClaims({ resourceClaims = [] }: PodSpec, path: string): FieldError[] {
  const seen = new Set<string>();
  return resourceClaims.flatMap((claim, i) => {
    const { name = "", resourceClaimName, resourceClaimTemplateName } = claim;
    const at = `${path}[${i}]`;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${at}.name`));
    else if (seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    else errors.push(...named(name, dnsLabel, `${at}.name`));
    seen.add(name);
    const value = {
      Name: name,
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
      errors.push(invalidField(at, value, text));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      errors.push(invalidField(at, value, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
    errors.push(...named(resourceClaimName, dnsSubdomain, `${at}.resourceClaimName`));
    return [...errors, ...named(resourceClaimTemplateName, dnsSubdomain, `${at}.resourceClaimTemplateName`)];
  });
}

function validatePodResources({ resources, os }: PodSpec, path: string): FieldError[] {
  if (resources === undefined) return [];
  if (os?.name === "windows") return [forbiddenField(path, "may not be set for a windows pod")];
  const errors: FieldError[] = [];
  if (resources.claims !== undefined) {
    errors.push(forbiddenField(`${path}.claims`, "claims may not be set for Resources at pod-level"));
  }
  return [...errors, ...validateResourceRequirements({ ...resources, claims: [] }, [], path)];
}

function validateHostNetwork({ hostNetwork, containers = [] }: PodSpec, path: string, isPod: boolean): FieldError[] {
  if (!hostNetwork) return [];
  return containers.flatMap(({ ports = [] }, i) =>
    ports.flatMap(({ hostPort = 0, containerPort = 0 }, j) => {
      if ((!isPod && hostPort === 0) || hostPort === containerPort) return [];
      const at = `${path}.containers[${i}].ports[${j}].hostPort`;
      return [invalidField(at, hostPort, "must match `containerPort` when `hostNetwork` is true")];
    }),
  );
}

function validateGates({ readinessGates = [], schedulingGates = [] }: PodSpec, path: string): FieldError[] {
  const errors = readinessGates.flatMap(({ conditionType = "" }, i) =>
    qualifiedName(conditionType).map((text) =>
      invalidField(`${path}.readinessGates[${i}].conditionType`, conditionType, text),
    ),
  );
  const seen = new Set<string>();
  for (const [i, { name = "" }] of schedulingGates.entries()) {
    const at = `${path}.schedulingGates[${i}]`;
    errors.push(...qualifiedName(name).map((text) => invalidField(at, name, text)));
    if (seen.has(name)) errors.push(duplicate(at, name));
    seen.add(name);
  }
  return errors;
}

function validateHostUsers(spec: PodSpec, path: string): FieldError[] {
  if (spec.hostUsers !== false) return [];
  const text = "when `hostUsers` is false";
  const errors: FieldError[] = [];
  if (spec.hostNetwork) errors.push(forbiddenField(`${path}.hostNetwork`, text));
  if (spec.hostPID) errors.push(forbiddenField(`${path}.HostPID`, text));
  if (spec.hostIPC) errors.push(forbiddenField(`${path}.HostIPC`, text));
  return errors;
}

function validateHostnameOverride(spec: PodSpec, path: string): FieldError[] {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return [];
  const errors: FieldError[] = [];
  if (spec.setHostnameAsFQDN) {
    errors.push(forbiddenField(path, "may not be specified when setHostnameAsFQDN is true"));
  }
  if (spec.hostNetwork) errors.push(forbiddenField(path, "may not be specified when hostNetwork is true"));
  if (name.length > 64) errors.push(tooLong(path, 64));
  return [...errors, ...dnsSubdomain(name).map((text) => invalidField(path, name, text))];
}

function validateHostAliases({ hostAliases = [] }: PodSpec, path: string): FieldError[] {
  return hostAliases.flatMap(({ ip, hostnames = [] }, i) => [
    ...validateIp(ip, `${path}[${i}].ip`),
    ...hostnames.flatMap((name = "", j) =>
      dnsSubdomain(name).map((text) => invalidField(`${path}[${i}].hostnames[${j}]`, name, text)),
    ),
  ]);
}

function validateOs(spec: PodSpec, path: string): FieldError[] {
  if (spec.os === undefined) return [];
  const { name } = spec.os;
  if (!name) return [required(`${path}.os.name`)];
  const known = ["linux", "windows"];
  if (!known.includes(name)) return [notSupported(`${path}.os`, name, known)];
  if (name !== "linux" || spec.securityContext?.windowsOptions === undefined) return [];
  const text = "windows options cannot be set for a linux pod";
  return [forbiddenField(`${path}.securityContext.windowsOptions`, text)];
}

function validateFileReferences(spec: PodSpec, path: string): FieldError[] {
  const containers = [
    ...(spec.initContainers ?? []).map((one, i) => ({ one, at: `${path}.initContainers[${i}]` })),
    ...(spec.containers ?? []).map((one, i) => ({ one, at: `${path}.containers[${i}]` })),
  ];
  return containers.flatMap(({ one, at }) =>
    (one.env ?? []).flatMap(({ valueFrom }, i): FieldError[] => {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) return [];
      const field = `${at}.env[${i}].valueFrom.fileKeyRef.volumeName`;
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      if (volume === undefined) return [{ type: "FieldValueNotFound", field, value: name, detail: "" }];
      return volume.emptyDir ? [] : [invalidField(field, name, "referenced volume must be of type emptyDir")];
    }),
  );
}
