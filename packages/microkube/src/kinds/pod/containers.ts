import type { IContainer } from "kubernetes-models/v1/Container";
import type { IEphemeralContainer } from "kubernetes-models/v1/EphemeralContainer";
import type { IPodSpec } from "kubernetes-models/v1/PodSpec";
import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import type { Draft } from "../kind.ts";
import { tooMany } from "../object-meta.ts";
import { dnsLabel } from "../values/name.ts";
import { validateContainerPorts, validateHostPorts } from "./container-ports.ts";
import { validateResourceRequirements } from "./container-resources.ts";
import { validateEnvironment, validateEnvironmentFrom } from "./environment.ts";
import { validateLifecycle, validateProbes } from "./probe.ts";
import { validateSecurityContext } from "./security-context.ts";
import { validateVolumeDevices, validateVolumeMounts } from "./volume-mounts.ts";
import { type Volume, validatePullPolicy } from "./volumes.ts";

export type Container = Draft<IContainer>;
type Spec = Draft<IPodSpec>;

/** What containers are checked against: the rest of their pod. */
export interface ContainerSetting {
  readonly spec: Spec;
  readonly volumes: ReadonlyMap<string, Volume>;
}

export function validateContainers({ spec, volumes }: ContainerSetting, path: string): FieldError[] {
  const containers = spec.containers ?? [];
  if (containers.length === 0) return [required(path)];
  const names = new Set<string>();
  const errors = containers.flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const own = validateContainer(container, { spec, volumes }, at);
    const { name = "", lifecycle } = container;
    if (names.has(name)) own.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (lifecycle) own.push(...validateLifecycle(lifecycle, grace(spec), spec.os?.name, `${at}.lifecycle`));
    own.push(...validateProbes(container, grace(spec), at));
    return [...own, ...validateRestartRules(container, at)];
  });
  return [...errors, ...validateHostPorts(containers, path)];
}

const grace = (spec: Spec): number | undefined => spec.terminationGracePeriodSeconds;

export function validateInitContainers({ spec, volumes }: ContainerSetting, path: string): FieldError[] {
  const names = new Set((spec.containers ?? []).map(({ name }) => name ?? ""));
  return (spec.initContainers ?? []).flatMap((container, i) => {
    const at = `${path}[${i}]`;
    const errors = validateContainer(container, { spec, volumes }, at);
    const { name = "", restartPolicy, lifecycle } = container;
    if (restartPolicy === undefined && (container.restartPolicyRules ?? []).length > 0) {
      const text = "must specify restartPolicy when restart rules are used";
      errors.push(required(`${at}.restartPolicy`, text));
    } else if (restartPolicy !== undefined) errors.push(...validateRestartRules(container, at));
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    if (name !== "") names.add(name);
    errors.push(...validateHostPorts([container], path));
    if (restartPolicy === "Always") {
      if (lifecycle) errors.push(...validateLifecycle(lifecycle, grace(spec), spec.os?.name, `${at}.lifecycle`));
      return [...errors, ...validateProbes(container, grace(spec), at)];
    }
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
      if (container[field] === undefined) continue;
      errors.push(forbiddenField(`${at}.${field}`, "may not be set for init containers without restartPolicy=Always"));
    }
    for (const [j, policy] of (container.resizePolicy ?? []).entries()) {
      if (policy.restartPolicy !== "RestartContainer") continue;
      const text = "must not be set to 'RestartContainer' for non-sidecar initContainers";
      errors.push(invalidField(`${at}.resizePolicy[${j}].restartPolicy`, policy.restartPolicy, text));
    }
    return errors;
  });
}

const forbiddenForEphemeral = [
  "ports",
  "resources",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
  "resizePolicy",
  "restartPolicy",
  "restartPolicyRules",
] as const;

export function validateEphemeralContainers({ spec, volumes }: ContainerSetting, path: string): FieldError[] {
  const others = new Set([...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ name }) => name ?? ""));
  const names = new Set(others);
  return (spec.ephemeralContainers ?? []).flatMap((container: Draft<IEphemeralContainer>, i) => {
    const at = `${path}[${i}]`;
    const errors = validateContainer(container, { spec, volumes }, at);
    errors.push(...validateImageText(container.image, `${at}.image`));
    const { name = "", targetContainerName } = container;
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (targetContainerName && !others.has(targetContainerName)) {
      const field = `${at}.targetContainerName`;
      errors.push({ type: "FieldValueNotFound", field, value: targetContainerName, detail: "" });
    }
    for (const field of forbiddenForEphemeral) {
      const value = container[field];
      if (value === undefined || Object.keys(value).length === 0) continue;
      errors.push(forbiddenField(`${at}.${field}`, "cannot be set for an Ephemeral Container"));
    }
    for (const [j, mount] of (container.volumeMounts ?? []).entries()) {
      for (const field of ["subPath", "subPathExpr"] as const) {
        if (!mount[field]) continue;
        const text = "cannot be set for an Ephemeral Container";
        errors.push(forbiddenField(`${at}.volumeMounts[${j}].${field}`, text));
      }
    }
    return errors;
  });
}

function validateContainer(container: Container, { spec, volumes }: ContainerSetting, path: string): FieldError[] {
  const { name = "", image, terminationMessagePolicy = "" } = container;
  const errors =
    name === "" ? [required(`${path}.name`)] : dnsLabel(name).map((text) => invalidField(`${path}.name`, name, text));
  if (!image) errors.push(required(`${path}.image`));
  const messages = ["File", "FallbackToLogsOnError"];
  if (terminationMessagePolicy === "") errors.push(required(`${path}.terminationMessagePolicy`));
  else if (!messages.includes(terminationMessagePolicy)) {
    errors.push(notSupported(`${path}.terminationMessagePolicy`, terminationMessagePolicy, messages));
  }
  const claims = (spec.resourceClaims ?? []).map((claim) => claim.name ?? "").filter((one) => one !== "");
  return [
    ...errors,
    ...validateContainerPorts(container.ports, `${path}.ports`),
    ...validateEnvironment(container.env, `${path}.env`),
    ...validateEnvironmentFrom(container.envFrom, `${path}.envFrom`),
    ...validateVolumeMounts(container, volumes, `${path}.volumeMounts`),
    ...validateVolumeDevices(container, volumes, `${path}.volumeDevices`),
    ...validatePullPolicy(container.imagePullPolicy, `${path}.imagePullPolicy`),
    ...validateResourceRequirements(container.resources, claims, `${path}.resources`),
    ...validateResizePolicy(container, spec.restartPolicy, `${path}.resizePolicy`),
    ...validateSecurityContext(container.securityContext, spec.hostUsers !== false, `${path}.securityContext`),
  ];
}

/** Only pods are held to it: a template is refused by its pods. */
export function validateImageText(image: string | undefined, path: string): FieldError[] {
  if (image === undefined || image.trim() === image) return [];
  return [invalidField(path, image, "must not have leading or trailing whitespace")];
}

function validateResizePolicy(
  { resizePolicy = [] }: Container,
  podPolicy: string | undefined,
  path: string,
): FieldError[] {
  const seen = new Set<string>();
  return resizePolicy.flatMap(({ resourceName = "", restartPolicy = "" }, i) => {
    const errors: FieldError[] = [];
    if (seen.has(resourceName)) errors.push(duplicate(`${path}[${i}]`, resourceName));
    seen.add(resourceName);
    for (const [value, known] of [
      [resourceName, ["cpu", "memory"]],
      [restartPolicy, ["NotRequired", "RestartContainer"]],
    ] as const) {
      if (value === "") errors.push(required(path));
      else if (!(known as readonly string[]).includes(value)) errors.push(notSupported(path, value, known));
    }
    if (podPolicy === "Never" && restartPolicy !== "NotRequired") {
      const text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(invalidField(path, restartPolicy, text));
    }
    return errors;
  });
}

const restartPolicies = ["Always", "Never", "OnFailure"];
const actions = ["Restart", "RestartAllContainers"];
const operators = ["In", "NotIn"];

function validateRestartRules(
  { restartPolicy, restartPolicyRules: rules = [] }: Container,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (restartPolicy === undefined) {
    if (rules.length === 0) return [];
    errors.push(required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used"));
  } else if (!restartPolicies.includes(restartPolicy)) {
    errors.push(notSupported(`${path}.restartPolicy`, restartPolicy, restartPolicies));
  }
  if (rules.length > 20) errors.push(tooMany(`${path}.restartPolicyRules`, rules.length, 20));
  for (const [i, { action = "", exitCodes }] of rules.entries()) {
    const at = `${path}.restartPolicyRules[${i}]`;
    if (!actions.includes(action)) errors.push(notSupported(`${at}.action`, action, actions));
    if (exitCodes === undefined) errors.push(required(`${at}.exitCodes`, "must be specified"));
    else if (!operators.includes(exitCodes.operator ?? "")) {
      errors.push(notSupported(`${at}.exitCodes.operator`, exitCodes.operator ?? "", operators));
    }
  }
  return errors;
}
