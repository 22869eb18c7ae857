import type { FieldError } from "../../field-error.ts";
import { duplicate, forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { validateProtocol } from "../pod/container-ports.ts";
import { parseIp, validateCidr, validateEndpointIp, validateIp } from "../values/ip-address.ts";
import { qualifiedName, validateLabels } from "../values/label.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";
import { portNumber, validatePortNumberOrName } from "../values/port.ts";
import { validateClusterIpChange, validateClusterIps } from "./cluster-ips.ts";
import {
  hasNodePorts,
  isExternallyAccessible,
  isHeadless,
  needsHealthCheckPort,
  type Service,
  type ServiceSpec,
} from "./service-shape.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinities = ["ClientIP", "None"];
const longestAffinity = 86400;

export function validateService({ spec = {}, metadata }: Service): FieldError[] {
  const errors: FieldError[] = [];
  if ((spec.ports ?? []).length === 0 && !isHeadless(spec) && spec.type !== "ExternalName") {
    errors.push(required("spec.ports"));
  }
  errors.push(...validateType(spec), ...validatePorts(spec));
  errors.push(...validateLabels(spec.selector as Record<string, string> | undefined, "spec.selector"));
  errors.push(...validateAffinity(spec), ...validateClusterIps(spec));
  for (const [i, ip = ""] of (spec.externalIPs ?? []).entries()) {
    const wrong = validateIp(ip, `spec.externalIPs[${i}]`);
    errors.push(...(wrong.length > 0 ? wrong : validateEndpointIp(ip, `spec.externalIPs[${i}]`)));
  }
  if (!spec.type) errors.push(required("spec.type"));
  else if (!types.includes(spec.type)) errors.push(notSupported("spec.type", spec.type, types));
  return [
    ...errors,
    ...validateNodePorts(spec),
    ...validateSourceRanges(spec, metadata.annotations ?? {}),
    ...validateLoadBalancer(spec),
    ...validateTraffic(spec),
  ];
}

function validateType(spec: ServiceSpec): FieldError[] {
  if (hasNodePorts(spec) && isHeadless(spec)) {
    const text = `may not be set to 'None' for ${spec.type} services`;
    return [invalidField("spec.clusterIPs[0]", "None", text)];
  }
  if (spec.type !== "ExternalName") return [];
  const errors: FieldError[] = [];
  const text = "may not be set for ExternalName services";
  if ((spec.clusterIPs ?? []).length > 0) errors.push(forbiddenField("spec.clusterIPs", text));
  if ((spec.ipFamilies ?? []).length > 0) errors.push(forbiddenField("spec.ipFamilies", text));
  if (spec.ipFamilyPolicy !== undefined) errors.push(forbiddenField("spec.ipFamilyPolicy", text));
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") return [...errors, required("spec.externalName")];
  return [...errors, ...dnsSubdomain(name).map((one) => invalidField("spec.externalName", name, one))];
}

function validatePorts({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return ports.flatMap((port, i) => {
    const at = `spec.ports[${i}]`;
    const { name = "", port: number = 0, protocol, targetPort, appProtocol } = port;
    const errors: FieldError[] = [];
    if (name === "") {
      if (ports.length > 1) errors.push(required(`${at}.name`));
    } else {
      errors.push(...dnsLabel(name).map((text) => invalidField(`${at}.name`, name, text)));
      if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
      names.add(name);
    }
    errors.push(...portNumber(number).map((text) => invalidField(`${at}.port`, number, text)));
    errors.push(...validateProtocol(protocol, `${at}.protocol`));
    errors.push(...validatePortNumberOrName(targetPort, `${at}.targetPort`));
    if (appProtocol === undefined) return errors;
    return [
      ...errors,
      ...qualifiedName(appProtocol).map((text) => invalidField(`${at}.appProtocol`, appProtocol, text)),
    ];
  });
}

function validateAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): FieldError[] {
  if (!sessionAffinity) return [required("spec.sessionAffinity")];
  if (!affinities.includes(sessionAffinity)) return [notSupported("spec.sessionAffinity", sessionAffinity, affinities)];
  if (sessionAffinity === "None") {
    if (sessionAffinityConfig === undefined) return [];
    return [forbiddenField("spec.sessionAffinityConfig", "must not be set when session affinity is None")];
  }
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0;
  if (seconds > 0 && seconds <= longestAffinity) return [];
  const text = `must be greater than 0 and less than ${longestAffinity}`;
  return [invalidField("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, text)];
}

function validateNodePorts({ type, ports = [] }: ServiceSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (type === "ClusterIP") {
    for (const [i, { nodePort }] of ports.entries()) {
      if (!nodePort) continue;
      errors.push(forbiddenField(`spec.ports[${i}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
    }
  }
  const taken = new Set<string>();
  for (const [i, { nodePort = 0, protocol }] of ports.entries()) {
    if (nodePort === 0) continue;
    if (taken.has(`${protocol}/${nodePort}`)) errors.push(duplicate(`spec.ports[${i}].nodePort`, nodePort));
    taken.add(`${protocol}/${nodePort}`);
  }
  const served = new Set<string>();
  for (const [i, { port = 0, protocol = "" }] of ports.entries()) {
    const key = `${protocol}/${port}`;
    const value = { Name: "", Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    if (served.has(key)) errors.push(duplicate(`spec.ports[${i}]`, value));
    served.add(key);
  }
  return errors;
}

const rangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";

function validateSourceRanges(
  { type, loadBalancerSourceRanges: ranges = [] }: ServiceSpec,
  annotations: Readonly<Record<string, string>>,
): FieldError[] {
  const onlyFor = "may only be used when `type` is 'LoadBalancer'";
  if (ranges.length > 0) {
    const path = "spec.LoadBalancerSourceRanges";
    const errors = type === "LoadBalancer" ? [] : [forbiddenField(path, onlyFor)];
    return [...errors, ...ranges.flatMap((range, i) => validateCidr(range?.trim(), `${path}[${i}]`))];
  }
  const annotated = annotations[rangesAnnotation];
  if (annotated === undefined) return [];
  const path = `metadata.annotations[${rangesAnnotation}]`;
  const errors = type === "LoadBalancer" ? [] : [forbiddenField(path, onlyFor)];
  if (annotated.trim() === "") return errors;
  return [...errors, ...annotated.split(",").flatMap((range) => validateCidr(range.trim(), path))];
}

function validateLoadBalancer(spec: ServiceSpec): FieldError[] {
  const { type, allocateLoadBalancerNodePorts, loadBalancerClass } = spec;
  const onlyFor = "may only be used when `type` is 'LoadBalancer'";
  const errors: FieldError[] = [];
  if (type !== "LoadBalancer") {
    if (allocateLoadBalancerNodePorts !== undefined) {
      errors.push(forbiddenField("spec.allocateLoadBalancerNodePorts", onlyFor));
    }
    if (loadBalancerClass !== undefined) errors.push(forbiddenField("spec.loadBalancerClass", onlyFor));
    return errors;
  }
  if (loadBalancerClass === undefined) return errors;
  const path = "spec.loadBalancerClass";
  return qualifiedName(loadBalancerClass).map((text) => invalidField(path, loadBalancerClass, text));
}

const policies = ["Cluster", "Local"];
const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];

function validateTraffic(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy: external = "", internalTrafficPolicy: internal, healthCheckNodePort = 0 } = spec;
  const errors: FieldError[] = [];
  const path = "spec.externalTrafficPolicy";
  if (!isExternallyAccessible(spec)) {
    if (external !== "") {
      errors.push(invalidField(path, external, "may only be set for externally-accessible services"));
    }
  } else if (external === "") errors.push(required(path));
  else if (!policies.includes(external)) errors.push(notSupported(path, external, policies));
  const port = "spec.healthCheckNodePort";
  if (!needsHealthCheckPort(spec)) {
    if (healthCheckNodePort !== 0) {
      const text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
      errors.push(invalidField(port, healthCheckNodePort, text));
    }
  } else if (healthCheckNodePort !== 0) {
    errors.push(...portNumber(healthCheckNodePort).map((text) => invalidField(port, healthCheckNodePort, text)));
  }
  if (internal !== undefined && !policies.includes(internal)) {
    errors.push(notSupported("spec.internalTrafficPolicy", internal, policies));
  }
  const { trafficDistribution: distribution } = spec;
  if (distribution !== undefined && !distributions.includes(distribution)) {
    errors.push(notSupported("spec.trafficDistribution", distribution, distributions));
  }
  return errors;
}

export function validateServiceChange(service: Service, old: Service): FieldError[] {
  const spec = service.spec ?? {};
  const before = old.spec ?? {};
  const errors = validateClusterIpChange(spec, before);
  const isBalanced = spec.type === "LoadBalancer" && before.type === "LoadBalancer";
  if (isBalanced && spec.loadBalancerClass !== before.loadBalancerClass) {
    errors.push(invalidField("spec.loadBalancerClass", spec.loadBalancerClass, "may not change once set"));
  }
  const isChecked = needsHealthCheckPort(spec) && needsHealthCheckPort(before);
  if (isChecked && spec.healthCheckNodePort !== before.healthCheckNodePort) {
    errors.push(forbiddenField("spec.healthCheckNodePort", "field is immutable"));
  }
  return [...errors, ...validateService(service)];
}

export function validateServiceStatus({ spec = {}, status }: Service): FieldError[] {
  const ingress = status?.loadBalancer?.ingress ?? [];
  const path = "status.loadBalancer.ingress";
  if (spec.type !== "LoadBalancer" && ingress.length > 0) {
    return [forbiddenField(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap(({ ip, ipMode, hostname }, i) => {
    const at = `${path}[${i}]`;
    const errors = ip ? validateIp(ip, `${at}.ip`) : [];
    if (ipMode === undefined && ip) errors.push(required(`${at}.ipMode`, "must be specified when `ip` is set"));
    if (ipMode !== undefined && !ip) {
      errors.push(forbiddenField(`${at}.ipMode`, "may not be specified when `ip` is not set"));
    } else if (ipMode !== undefined && !["Proxy", "VIP"].includes(ipMode)) {
      errors.push(notSupported(`${at}.ipMode`, ipMode, ["Proxy", "VIP"]));
    }
    if (!hostname) return errors;
    errors.push(...dnsSubdomain(hostname).map((text) => invalidField(`${at}.hostname`, hostname, text)));
    if (parseIp(hostname) === undefined) return errors;
    return [...errors, invalidField(`${at}.hostname`, hostname, "must be a DNS name, not an IP address")];
  });
}
