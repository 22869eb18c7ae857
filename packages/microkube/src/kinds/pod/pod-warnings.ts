import type { ObjectMeta } from "@fjord/base";
import { dnsLabel } from "../values/name.ts";
import { isWhole } from "../values/quantity.ts";
import type { Container } from "./containers.ts";
import type { PodSpec } from "./pod-spec.ts";
import type { PodTemplate } from "./pod-template.ts";
import type { Pod } from "./pod-update.ts";

const deprecatedVolumes = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11, and disabled by default in v1.33+",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
} as const;

const deprecatedLabels: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

const deprecatedAnnotations: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
};

/** Only new pods are warned of. */
export function podWarnings(pod: Pod, old?: Pod): string[] {
  if (old !== undefined) return [];
  const texts = dnsLabel(pod.metadata.name ?? "");
  const name =
    texts.length === 0
      ? []
      : [
          `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${texts.join(" ")}]`,
        ];
  return [...name, ...specWarnings(pod.spec ?? {}, pod.metadata, "")];
}

/** `path` of the template in its owner. */
export function templateWarnings(template: PodTemplate | undefined, path = "spec.template"): string[] {
  return specWarnings(template?.spec ?? {}, (template?.metadata ?? {}) as ObjectMeta, `${path}.`);
}

function specWarnings(spec: PodSpec, metadata: ObjectMeta, path: string): string[] {
  const warnings: string[] = [];
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    if (deprecatedLabels[key]) warnings.push(`${path}spec.nodeSelector[${key}]: ${deprecatedLabels[key]}`);
  }
  for (const [i, { topologyKey = "", labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = `${path}spec.topologySpreadConstraints[${i}]`;
    const deprecated = deprecatedLabels[topologyKey];
    if (deprecated) warnings.push(`${at}.topologyKey: ${topologyKey} is ${deprecated}`);
    if (labelSelector === undefined)
      warnings.push(`${at}.labelSelector: a null labelSelector results in matching no pod`);
  }
  for (const [key, text] of Object.entries(deprecatedAnnotations)) {
    if (metadata.annotations?.[key] !== undefined) warnings.push(`${path}metadata.annotations[${key}]: ${text}`);
  }
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    for (const [source, text] of Object.entries(deprecatedVolumes)) {
      if (volume[source as keyof typeof deprecatedVolumes] === undefined) continue;
      const name = source === "storageos" ? "storageOS" : source;
      warnings.push(`${path}spec.volumes[${i}].${name}: ${text}`);
    }
  }
  warnings.push(...repeated(spec.hostAliases, "ip", `${path}spec.hostAliases`));
  warnings.push(...repeated(spec.imagePullSecrets, "name", `${path}spec.imagePullSecrets`));
  for (const [i, { name }] of (spec.imagePullSecrets ?? []).entries()) {
    if (!name) warnings.push(`${path}spec.imagePullSecrets[${i}].name: invalid empty name ""`);
  }
  const containers = containersOf(spec, path);
  for (const { container, at } of containers) warnings.push(...containerWarnings(container, at));
  return [...warnings, ...portWarnings(containers), ...affinityWarnings(spec, path)];
}

interface Placed {
  readonly container: Container;
  readonly at: string;
}

function containersOf(spec: PodSpec, path: string): Placed[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((field) =>
    ((spec[field] ?? []) as Container[]).map((container, i) => ({ container, at: `${path}spec.${field}[${i}]` })),
  );
}

function repeated<Field extends string>(
  items: readonly { [Name in Field]?: string }[] | undefined,
  field: Field,
  path: string,
): string[] {
  const seen = new Set<string>();
  return (items ?? []).flatMap((item, i) => {
    const value = item[field] ?? "";
    if (seen.has(value)) return [`${path}[${i}].${field}: duplicate ${field} ${JSON.stringify(value)}`];
    seen.add(value);
    return [];
  });
}

function containerWarnings({ resources, env = [] }: Container, at: string): string[] {
  const warnings: string[] = [];
  for (const name of ["memory", "ephemeral-storage"]) {
    for (const which of ["limits", "requests"] as const) {
      const quantity = resources?.[which]?.[name];
      if (quantity === undefined || isWhole(quantity)) continue;
      warnings.push(
        `${at}.resources.${which}[${name}]: fractional byte value ${JSON.stringify(String(quantity))} is invalid, must be an integer`,
      );
    }
  }
  const seen = new Set<string>();
  for (const [i, { name = "", value = "", valueFrom }] of env.entries()) {
    const reference = `$(${name})`;
    if (!seen.has(name)) seen.add(name);
    else if (valueFrom !== undefined || value === reference || !value.includes(reference)) {
      warnings.push(`${at}.env[${i}]: hides previous definition of "${name}", which may be dropped when using apply`);
    }
  }
  return warnings;
}

/** Each port is told of beside each other one of its number: with so many of them there is enough to read. */
const MOST_COMPARED = 100;

function portWarnings(containers: readonly Placed[]): string[] {
  const warnings: string[] = [];
  const ports = containers.flatMap(({ container, at }) =>
    (container.ports ?? []).map((port, i) => ({ port, at: `${at}.ports[${i}]` })),
  );
  /** Those of one number and protocol that came before. */
  const before = new Map<string, typeof ports>();
  for (const one of ports) {
    const { port, at } = one;
    const key = `${port.containerPort}/${port.protocol}`;
    const others = before.get(key) ?? [];
    before.set(key, others.length < MOST_COMPARED ? [...others, one] : others);
    for (const other of others) {
      const [a, b] = [port.hostPort ?? 0, other.port.hostPort ?? 0];
      const [ip, otherIp] = [port.hostIP ?? "", other.port.hostIP ?? ""];
      if (ip === otherIp && a === b) warnings.push(`${at}: duplicate port definition with ${other.at}`);
      else if (a === 0 || b === 0) warnings.push(`${at}: overlapping port definition with ${other.at}`);
      else if (a === b && (ip === "") !== (otherIp === "")) {
        warnings.push(`${at}: dangerously ambiguous port definition with ${other.at}`);
      }
    }
  }
  const names = new Map<string, string>();
  for (const { port, at } of ports) {
    if (!port.name) continue;
    const other = names.get(port.name);
    if (other === undefined) names.set(port.name, at);
    else {
      warnings.push(
        `${at}: duplicate port name "${port.name}" with ${other}, services and probes that select ports by name will use ${other}`,
      );
    }
  }
  return warnings;
}

function affinityWarnings({ affinity }: PodSpec, path: string): string[] {
  const text = "a null labelSelector results in matching no pod";
  return (["podAffinity", "podAntiAffinity"] as const).flatMap((field) => {
    const at = `${path}spec.affinity.${field}`;
    const must = affinity?.[field]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const may = affinity?.[field]?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    return [
      ...must.flatMap(({ labelSelector }, i) =>
        labelSelector ? [] : [`${at}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${text}`],
      ),
      ...may.flatMap(({ podAffinityTerm }, i) =>
        podAffinityTerm?.labelSelector
          ? []
          : [`${at}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ${text}`],
      ),
    ];
  });
}
