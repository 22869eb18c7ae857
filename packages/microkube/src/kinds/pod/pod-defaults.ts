import type { IProbe } from "kubernetes-models/v1/Probe";
import { defaultClaimSpec } from "../core/claim-spec.ts";
import type { Draft } from "../kind.ts";
import type { Container } from "./containers.ts";
import type { PodSpec } from "./pod-spec.ts";
import type { Volume } from "./volumes.ts";

const fileMode = 0o644;

/** What a pod's spec has when nothing is said, in pods and in templates alike. */
export function defaultPodSpec(spec: PodSpec): void {
  spec.dnsPolicy ||= "ClusterFirst";
  spec.restartPolicy ||= "Always";
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  // As in Kubernetes: less than nothing is the least that lets a container end.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  spec.schedulerName ||= "default-scheduler";
  alignServiceAccount(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of allContainers(spec)) defaultContainer(container);
  if (spec.hostNetwork) defaultHostPorts(spec);
}

/** The account's name is in two fields: one of them is the old one. */
export function alignServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

export function allContainers(spec: PodSpec): Container[] {
  const ephemeral = (spec.ephemeralContainers ?? []) as Container[];
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...ephemeral];
}

/** What only pods themselves have, and no template. */
export function defaultPod(spec: PodSpec): void {
  spec.enableServiceLinks ??= true;
  for (const { resources } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    if (resources?.limits !== undefined) resources.requests = { ...resources.limits, ...resources.requests };
  }
}

function defaultHostPorts(spec: PodSpec): void {
  for (const { ports = [] } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    for (const port of ports) if (!port.hostPort && port.containerPort) port.hostPort = port.containerPort;
  }
}

function defaultContainer(container: Container): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? "");
  container.terminationMessagePath ||= "/dev/termination-log";
  container.terminationMessagePolicy ||= "File";
  container.resources ??= {};
  for (const port of container.ports ?? []) port.protocol ||= "TCP";
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= "v1";
    if (valueFrom?.resourceFieldRef) valueFrom.resourceFieldRef.divisor ??= "0";
    if (valueFrom?.fileKeyRef) valueFrom.fileKeyRef.optional ??= false;
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) {
    if (probe) defaultProbe(probe);
  }
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop]) {
    if (handler?.httpGet) defaultHttpGet(handler.httpGet);
  }
}

/** `latest`, said or not, may be another image tomorrow. */
export function pullPolicyOf(image: string): "Always" | "IfNotPresent" {
  if (image.includes("@")) return "IfNotPresent";
  const last = image.slice(image.lastIndexOf("/") + 1);
  const tag = last.includes(":") ? last.slice(last.indexOf(":") + 1) : "latest";
  return tag === "latest" && isReference(image) ? "Always" : "IfNotPresent";
}

/** Of what cannot be a reference no tag can be told. */
const isReference = (image: string): boolean => /^[a-z0-9]([a-zA-Z0-9._:/-]*[a-zA-Z0-9])?$/.test(image);

function defaultProbe(probe: Draft<IProbe>): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  if (probe.httpGet) defaultHttpGet(probe.httpGet);
  if (probe.grpc) probe.grpc.service ??= "";
}

function defaultHttpGet(action: { path?: string; scheme?: string }): void {
  action.path ||= "/";
  action.scheme ||= "HTTP";
}

function defaultVolume(volume: Volume): void {
  const { name, ...source } = volume;
  if (Object.values(source).every((one) => one === undefined)) volume.emptyDir = {};
  const { secret, configMap, downwardAPI, projected, hostPath, image, ephemeral } = volume;
  for (const files of [secret, configMap, downwardAPI, projected]) if (files) files.defaultMode ??= fileMode;
  for (const file of downwardAPI?.items ?? []) defaultReferences(file);
  for (const { serviceAccountToken, downwardAPI: files } of projected?.sources ?? []) {
    if (serviceAccountToken) serviceAccountToken.expirationSeconds ??= 3600;
    for (const file of files?.items ?? []) defaultReferences(file);
  }
  if (hostPath) hostPath.type ??= "";
  if (image) image.pullPolicy ||= pullPolicyOf(image.reference ?? "");
  if (ephemeral?.volumeClaimTemplate) defaultClaimSpec(ephemeral.volumeClaimTemplate.spec);
}

function defaultReferences(file: {
  fieldRef?: { apiVersion?: string };
  resourceFieldRef?: { divisor?: string | number };
}): void {
  if (file.fieldRef) file.fieldRef.apiVersion ||= "v1";
  if (file.resourceFieldRef) file.resourceFieldRef.divisor ??= "0";
}
