import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField } from "../../field-error.ts";
import { immutable } from "../values/equality.ts";
import { parseIp, validateIp } from "../values/ip-address.ts";
import { qualifiedName } from "../values/label.ts";
import { dnsSubdomain } from "../values/name.ts";
import { validateAnnotationChange } from "./pod-annotations.ts";
import type { Pod } from "./pod-update.ts";

type Status = NonNullable<Pod["status"]>;
const systemConditions = ["PodScheduled", "Ready", "Initialized"];

/** What a write of `/status` takes over beyond the status as it was sent. */
export function preparePodStatus(pod: Pod, old: Status | undefined): void {
  pod.status ??= {};
  const { status } = pod;
  if (!status.qosClass && old?.qosClass) status.qosClass = old.qosClass;
  if (!status.observedGeneration && old?.observedGeneration) status.observedGeneration = old.observedGeneration;
  for (const condition of status.conditions ?? []) {
    const before = old?.conditions?.find(({ type }) => type === condition.type);
    if (!condition.observedGeneration && before?.observedGeneration) {
      condition.observedGeneration = before.observedGeneration;
    }
  }
  alignAddresses(status);
}

/** One address is in two fields: the list is the newer one. */
function alignAddresses(status: Status): void {
  if (status.podIPs !== undefined && status.podIPs.length > 0) {
    if (status.podIP && status.podIPs[0]?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP }];
    else if (status.podIPs[0]?.ip) status.podIP = status.podIPs[0].ip;
  } else if (status.podIP) status.podIPs = [{ ip: status.podIP }];
}

export function validatePodStatus(pod: Pod, old: Pod): FieldError[] {
  const status = pod.status ?? {};
  const before = old.status ?? {};
  const errors = validateAnnotationChange(pod.metadata.annotations, old.metadata.annotations, "metadata.annotations");
  for (const [i, { type = "" }] of (status.conditions ?? []).entries()) {
    if (systemConditions.includes(type)) continue;
    errors.push(...qualifiedName(type).map((text) => invalidField(`status.conditions[${i}].Type`, type, text)));
  }
  const { nominatedNodeName: nominated = "" } = status;
  if (nominated !== "" && nominated !== before.nominatedNodeName) {
    const path = "status.nominatedNodeName";
    errors.push(...dnsSubdomain(nominated).map((text) => invalidField(path, nominated, text)));
    if (old.spec?.nodeName)
      errors.push(forbiddenField(path, "may not be set on pods that are already bound to a node"));
  }
  errors.push(...immutable(status.qosClass, before.qosClass, "status.qosClass"));
  for (const field of ["containerStatuses", "initContainerStatuses"] as const) {
    errors.push(...validateTransitions(pod, old, field));
  }
  errors.push(...validateAddresses(status.podIPs, "status.podIPs"));
  const hosts = status.hostIPs ?? [];
  if (hosts.length > 0 && hosts[0]?.ip !== status.hostIP) {
    errors.push(invalidField("status.hostIPs[0].ip", hosts[0]?.ip, "must be equal to `hostIP`"));
  }
  return [...errors, ...validateAddresses(hosts, "status.hostIPs")];
}

/** A container that is not to be started again stays ended. */
function validateTransitions(pod: Pod, old: Pod, field: "containerStatuses" | "initContainerStatuses"): FieldError[] {
  return (old.status?.[field] ?? []).flatMap((before, i) => {
    const ended = before.state?.terminated;
    const now = pod.status?.[field]?.find(({ name }) => name === before.name);
    if (ended === undefined || now === undefined || now.state?.terminated !== undefined) return [];
    const list = field === "containerStatuses" ? old.spec?.containers : old.spec?.initContainers;
    const container = list?.find(({ name }) => name === before.name);
    if (container !== undefined && startsAgain(container, old.spec?.restartPolicy, ended.exitCode ?? 0)) return [];
    return [forbiddenField(`status.${field}[${i}].state`, "may not be transitioned to non-terminated state")];
  });
}

type Ruled = { restartPolicy?: string; restartPolicyRules?: { action?: string; exitCodes?: ExitCodes }[] };
interface ExitCodes {
  operator?: string;
  values?: number[];
}

function startsAgain(container: Ruled, podPolicy: string | undefined, exitCode: number): boolean {
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    const isListed = (exitCodes?.values ?? []).includes(exitCode);
    const applies = exitCodes?.operator === "NotIn" ? !isListed : isListed;
    if (applies && action === "Restart") return true;
  }
  const policy = container.restartPolicy ?? podPolicy;
  if (policy === "Never") return false;
  return policy === "OnFailure" ? exitCode !== 0 : true;
}

function validateAddresses(addresses: Status["podIPs"], path: string): FieldError[] {
  const list = addresses ?? [];
  const errors = list.flatMap(({ ip }, i) => validateIp(ip, `${path}[${i}]`));
  const families = new Set(list.map(({ ip }) => parseIp(ip ?? "")?.family));
  if (list.length < 2 || errors.length > 0 || (list.length === 2 && families.size === 2)) return errors;
  const value = list.map(({ ip }) => ({ IP: ip }));
  return [...errors, invalidField(path, value, "may specify no more than one IP for each IP family")];
}
