import type { INetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import type { INetworkPolicyPeer } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicyPeer";
import type { INetworkPolicyPort } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicyPort";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, orNone, text } from "../columns.ts";
import { type Draft, type DraftObject, defineResource } from "../kind.ts";
import { inRange, parseRange, validateCidr } from "../values/ip-address.ts";
import { type LabelSelector, selectorText, validateLabelSelector } from "../values/label-selector.ts";
import { portName, portNumber } from "../values/port.ts";

type Spec = NonNullable<DraftObject<INetworkPolicy>["spec"]>;
const types = ["Ingress", "Egress"];
const protocols = ["TCP", "UDP", "SCTP"];

export const networkPolicy = defineResource<INetworkPolicy>({
  group: "networking.k8s.io",
  kind: "NetworkPolicy",
  createsOnUpdate: true,
  generation: "spec",
  default({ spec }) {
    if (spec === undefined) return;
    for (const { ports = [] } of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of ports) port.protocol ??= "TCP";
    }
    if ((spec.policyTypes ?? []).length > 0) return;
    spec.policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  },
  validate: ({ spec }) => validateSpec(spec ?? {}),
  columns: columnsOf<INetworkPolicy>(
    text("Pod-Selector", ({ spec }) => orNone(selectorText(spec?.podSelector as LabelSelector | undefined))),
  ),
});

function validateSpec(spec: Spec): FieldError[] {
  const errors = validateLabelSelector(spec.podSelector as LabelSelector | undefined, "spec.podSelector");
  for (const [i, { ports = [], from = [] }] of (spec.ingress ?? []).entries()) {
    errors.push(...ports.flatMap((port, j) => validatePort(port, `spec.ingress[${i}].ports[${j}]`)));
    errors.push(...from.flatMap((peer, j) => validatePeer(peer, `spec.ingress[${i}].from[${j}]`)));
  }
  for (const [i, { ports = [], to = [] }] of (spec.egress ?? []).entries()) {
    errors.push(...ports.flatMap((port, j) => validatePort(port, `spec.egress[${i}].ports[${j}]`)));
    errors.push(...to.flatMap((peer, j) => validatePeer(peer, `spec.egress[${i}].to[${j}]`)));
  }
  const asked = spec.policyTypes ?? [];
  if (asked.length > 2) {
    return [...errors, invalidField("spec.policyTypes", asked, "may not specify more than two policyTypes")];
  }
  const wrong = asked.flatMap((type = "", i) =>
    types.includes(type) ? [] : [notSupported(`spec.policyTypes[${i}]`, type, types)],
  );
  return [...errors, ...wrong];
}

function validatePort({ protocol, port, endPort }: Draft<INetworkPolicyPort>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (protocol !== undefined && !protocols.includes(protocol)) {
    errors.push(notSupported(`${path}.protocol`, protocol, protocols));
  }
  const at = `${path}.endPort`;
  if (port === undefined) {
    if (endPort === undefined) return errors;
    return [...errors, invalidField(at, endPort, "may not be specified when `port` is not specified")];
  }
  if (typeof port === "string") {
    if (endPort !== undefined) {
      errors.push(invalidField(at, endPort, "may not be specified when `port` is non-numeric"));
    }
    return [...errors, ...portName(port).map((one) => invalidField(`${path}.port`, port, one))];
  }
  const number = port as number;
  errors.push(...portNumber(number).map((one) => invalidField(`${path}.port`, number, one)));
  if (endPort === undefined) return errors;
  if (endPort < number) errors.push(invalidField(at, number, "must be greater than or equal to `port`"));
  return [...errors, ...portNumber(endPort).map((one) => invalidField(at, endPort, one))];
}

function validatePeer(peer: Draft<INetworkPolicyPeer>, path: string): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const errors = [
    ...validateLabelSelector(podSelector as LabelSelector | undefined, `${path}.podSelector`),
    ...validateLabelSelector(namespaceSelector as LabelSelector | undefined, `${path}.namespaceSelector`),
  ];
  if (ipBlock) errors.push(...validateBlock(ipBlock, `${path}.ipBlock`));
  if (!podSelector && !namespaceSelector && !ipBlock) errors.push(required(path, "must specify a peer"));
  else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.push(forbiddenField(path, "may not specify both ipBlock and another peer"));
  }
  return errors;
}

function validateBlock({ cidr = "", except = [] }: { cidr?: string; except?: string[] }, path: string): FieldError[] {
  if (cidr === "") return [required(`${path}.cidr`)];
  const errors = validateCidr(cidr, `${path}.cidr`);
  const range = parseRange(cidr);
  if (range === undefined) return errors;
  for (const [i, text = ""] of except.entries()) {
    const at = `${path}.except[${i}]`;
    errors.push(...validateCidr(text, at));
    const hole = parseRange(text);
    if (hole === undefined) continue;
    const isWithin = inRange({ family: hole.family, value: hole.first }, range) && range.prefix < hole.prefix;
    if (!isWithin) errors.push(invalidField(at, text, "must be a strict subset of `cidr`"));
  }
  return errors;
}
