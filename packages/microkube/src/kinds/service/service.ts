import type { IService } from "kubernetes-models/v1/Service";
import { columnsOf, labelsText, orNone, text, wide } from "../columns.ts";
import { defineResource, type KindDefinition } from "../kind.ts";
import type { CompleteMeans } from "../kind-means.ts";
import { sameMeaning } from "../values/equality.ts";
import { dnsLabel } from "../values/name.ts";
import { settleFamilies } from "./ip-families.ts";
import { ServiceAllocator } from "./service-allocator.ts";
import { defaultService } from "./service-defaults.ts";
import {
  allocatesNodePorts,
  hasNodePorts,
  isExternallyAccessible,
  isHeadless,
  needsAddress,
  needsHealthCheckPort,
  type Service,
  type ServiceSpec,
} from "./service-shape.ts";
import { validateService, validateServiceChange, validateServiceStatus } from "./service-validation.ts";

export function service({ serviceRanges, nodePorts }: CompleteMeans): KindDefinition {
  const allocator = new ServiceAllocator(serviceRanges, nodePorts);
  return defineResource<IService>({
    group: "",
    kind: "Service",
    nameRule: dnsLabel,
    hasStatus: true,
    createsOnUpdate: true,
    default: defaultService,
    prepareCreate(object) {
      object.status = {};
      const { spec } = object;
      if (spec?.clusterIP && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP];
      settleFamilies(object, undefined, allocator.families);
    },
    prepareUpdate(object, old) {
      const spec = object.spec ?? {};
      const before = old.spec ?? {};
      keepAllocated(spec, before);
      alignAddresses(spec, before);
      settleFamilies(object, old, allocator.families);
      dropByType(object, before);
    },
    validate: validateService,
    validateUpdate: validateServiceChange,
    validateStatus: validateServiceStatus,
    prepareStatus: defaultService,
    warnings: (object) => warningsOf(object),
    reserve: (object, old, context) => allocator.reserve(object, old, context),
    subresources: { proxy: { type: "connect", verbs: ["create", "delete", "get", "patch", "update"] } },
    selectableFields: {
      "spec.clusterIP": ({ spec }) => spec?.clusterIP ?? "",
      "spec.type": ({ spec }) => spec?.type ?? "",
    },
    columns: columnsOf<IService>(
      text("Type", ({ spec }) => spec?.type ?? ""),
      text("Cluster-IP", ({ spec }) => orNone(spec?.clusterIPs?.[0])),
      text("External-IP", (object) => externalIps(object)),
      text("Port(s)", ({ spec }) => portsText(spec)),
      wide(text("Selector", ({ spec }) => labelsText(spec?.selector))),
    ),
  });
}

/** What an update does not say of things that were given stays given. */
function keepAllocated(spec: ServiceSpec, before: ServiceSpec): void {
  if (needsAddress(spec) && needsAddress(before)) {
    if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && (before.clusterIPs ?? []).length > 0) {
      spec.clusterIPs = [...(before.clusterIPs ?? [])];
    }
  }
  if (allocatesNodePorts(spec) && allocatesNodePorts(before)) {
    const used = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
    for (const port of spec.ports ?? []) {
      const old = before.ports?.find(({ name }) => (name ?? "") === (port.name ?? ""))?.nodePort;
      if (!port.nodePort && old && !used.has(old)) port.nodePort = old;
    }
  }
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(before) && before.healthCheckNodePort) {
    spec.healthCheckNodePort ||= before.healthCheckNodePort;
  }
}

/** The address is in two fields: who changes one of them means both. */
function alignAddresses(spec: ServiceSpec, before: ServiceSpec): void {
  if (spec.clusterIP === before.clusterIP || !sameMeaning(spec.clusterIPs, before.clusterIPs)) return;
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP];
  else delete spec.clusterIPs;
}

/** What belonged to the old type and was not touched goes with it. */
function dropByType(object: Service, before: ServiceSpec): void {
  const spec = object.spec ?? {};
  if (needsAddress(before) && !needsAddress(spec)) {
    if (spec.clusterIP === before.clusterIP && sameMeaning(spec.clusterIPs, before.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameMeaning(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy;
    delete spec.internalTrafficPolicy;
  }
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    const old = new Set((before.ports ?? []).map(({ nodePort }) => nodePort));
    const isSame = (spec.ports ?? []).every(({ nodePort }) => !nodePort || old.has(nodePort));
    if (isSame) for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(spec)) {
    if (spec.healthCheckNodePort === before.healthCheckNodePort) delete spec.healthCheckNodePort;
  }
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    if (spec.allocateLoadBalancerNodePorts === before.allocateLoadBalancerNodePorts) {
      delete spec.allocateLoadBalancerNodePorts;
    }
    if (spec.loadBalancerClass === before.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec)) {
    if (spec.externalTrafficPolicy === before.externalTrafficPolicy) delete spec.externalTrafficPolicy;
  }
  if (spec.type !== "LoadBalancer" && object.status !== undefined) object.status.loadBalancer = {};
}

function warningsOf({ spec = {}, metadata }: Service): string[] {
  const warnings: string[] = [];
  const external = (spec.externalIPs ?? []).length > 0;
  if (metadata.annotations?.["service.kubernetes.io/topology-aware-hints"] !== undefined) {
    warnings.push(
      "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
    );
  }
  if (isHeadless(spec)) {
    if (spec.loadBalancerIP) warnings.push("spec.loadBalancerIP is ignored for headless services");
    if (external) warnings.push("spec.externalIPs is ignored for headless services");
    if (spec.sessionAffinity !== "None") warnings.push("spec.SessionAffinity is ignored for headless services");
  }
  if (external && !isHeadless(spec) && spec.type !== "ExternalName") {
    warnings.push("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (spec.type === "ExternalName" && external) {
    warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  }
  if (spec.type !== "ExternalName" && spec.externalName) {
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  }
  if (spec.trafficDistribution === "PreferClose") {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}

function externalIps({ spec = {}, status }: Service): string {
  if (spec.type === "ExternalName") return spec.externalName ?? "";
  const own = spec.externalIPs ?? [];
  if (spec.type !== "LoadBalancer") return orNone(own.join(","));
  const given = (status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "");
  const all = [...given.filter((one) => one !== ""), ...own];
  return all.length === 0 ? "<pending>" : all.join(",");
}

function portsText(spec: ServiceSpec | undefined): string {
  const parts = (spec?.ports ?? []).map(({ port, nodePort, protocol }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return orNone(parts.join(","));
}
