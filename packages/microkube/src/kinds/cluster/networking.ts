import type { IIngress } from "kubernetes-models/networking.k8s.io/v1/Ingress";
import type { IIngressBackend } from "kubernetes-models/networking.k8s.io/v1/IngressBackend";
import type { IIngressClass } from "kubernetes-models/networking.k8s.io/v1/IngressClass";
import type { IIPAddress } from "kubernetes-models/networking.k8s.io/v1/IPAddress";
import type { IServiceCIDR } from "kubernetes-models/networking.k8s.io/v1/ServiceCIDR";
import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, nameColumn, text } from "../columns.ts";
import { type Draft, type DraftObject, defineResource } from "../kind.ts";
import { tooLong } from "../object-meta.ts";
import { immutable } from "../values/equality.ts";
import { formatIp, parseIp, parseRange, validateCidr, validateIp } from "../values/ip-address.ts";
import { dnsLabel, dnsSubdomain, pathSegment, wildcardDnsSubdomain } from "../values/name.ts";
import { portName, portNumber } from "../values/port.ts";

type Ingress = DraftObject<IIngress>;
type Spec = NonNullable<Ingress["spec"]>;
const group = "networking.k8s.io";
const shown = 3;
const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];
const wrongSequences = ["//", "/./", "/../", "%2f", "%2F"];
const wrongEnds = ["/..", "/."];

export const ingress = defineResource<IIngress>({
  group,
  kind: "Ingress",
  hasStatus: true,
  createsOnUpdate: true,
  generation: "spec",
  validate({ metadata, spec = {} }) {
    const errors = validateSpec(spec);
    const annotated = metadata.annotations?.["kubernetes.io/ingress.class"];
    if (annotated === undefined || spec.ingressClassName === undefined || annotated === spec.ingressClassName) {
      return errors;
    }
    const why = "must match `ingressClassName` when both are specified";
    return [...errors, invalidField("annotations.kubernetes.io/ingress.class", annotated, why)];
  },
  validateUpdate: ({ spec }) => validateSpec(spec ?? {}),
  validateStatus: ({ status }) =>
    (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }, i) => {
      const at = `status.loadBalancer.ingress[${i}]`;
      const errors = ip ? validateIp(ip, `${at}.ip`) : [];
      if (!hostname) return errors;
      errors.push(...dnsSubdomain(hostname).map((one) => invalidField(`${at}.hostname`, hostname, one)));
      if (parseIp(hostname) === undefined) return errors;
      return [...errors, invalidField(`${at}.hostname`, hostname, "must be a DNS name, not an IP address")];
    }),
  warnings: ({ metadata }, old) =>
    old === undefined && metadata.annotations?.["kubernetes.io/ingress.class"] !== undefined
      ? ["annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"]
      : [],
  columns: columnsOf<IIngress>(
    text("Class", ({ spec }) => spec?.ingressClassName ?? "<none>"),
    text("Hosts", ({ spec }) => hostsText(spec ?? {})),
    text("Address", ({ status }) =>
      [...new Set((status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || ""))]
        .filter((one) => one !== "")
        .sort()
        .join(","),
    ),
    text("Ports", ({ spec }) => ((spec?.tls ?? []).length > 0 ? "80, 443" : "80")),
  ),
});

function hostsText({ rules = [] }: Spec): string {
  const hosts = rules.map(({ host = "" }) => host).filter((host) => host !== "");
  if (hosts.length === 0) return "*";
  const text = hosts.slice(0, shown).join(",");
  return hosts.length >= shown && rules.length > shown ? `${text} + ${rules.length - shown} more...` : text;
}

function validateSpec(spec: Spec): FieldError[] {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  const errors: FieldError[] = [];
  if (rules.length === 0 && defaultBackend === undefined) {
    errors.push(invalidField("spec", spec.rules ?? null, "either `defaultBackend` or `rules` must be specified"));
  }
  if (defaultBackend !== undefined) errors.push(...validateBackend(defaultBackend, "spec.defaultBackend"));
  for (const [i, { host = "", http }] of rules.entries()) {
    const at = `spec.rules[${i}]`;
    if (host !== "") errors.push(...validateHost(host, `${at}.host`));
    if (http === undefined) continue;
    if ((http.paths ?? []).length === 0) errors.push(required(`${at}.http.paths`));
    errors.push(...(http.paths ?? []).flatMap((path, j) => validatePath(path, `${at}.http.paths[${j}]`)));
  }
  for (const [i, { hosts = [], secretName = "" }] of tls.entries()) {
    for (const [j, host = ""] of hosts.entries()) {
      const rule = host.includes("*") ? wildcardDnsSubdomain : dnsSubdomain;
      errors.push(...rule(host).map((one) => invalidField(`spec.tls[${i}].hosts[${j}]`, host, one)));
    }
    if (secretName === "") continue;
    errors.push(...dnsSubdomain(secretName).map((one) => invalidField(`spec.tls[${i}].secretName`, secretName, one)));
  }
  if (ingressClassName === undefined) return errors;
  const path = "spec.ingressClassName";
  return [...errors, ...dnsSubdomain(ingressClassName).map((one) => invalidField(path, ingressClassName, one))];
}

function validateHost(host: string, path: string): FieldError[] {
  const errors = parseIp(host) === undefined ? [] : [invalidField(path, host, "must be a DNS name, not an IP address")];
  const rule = host.includes("*") ? wildcardDnsSubdomain : dnsSubdomain;
  return [...errors, ...rule(host).map((one) => invalidField(path, host, one))];
}

function validatePath(
  { path = "", pathType, backend = {} }: { path?: string; pathType?: string; backend?: Draft<IIngressBackend> },
  at: string,
): FieldError[] {
  if (pathType === undefined) return [required(`${at}.pathType`, "pathType must be specified")];
  const errors: FieldError[] = [];
  const wrong = (why: string) => errors.push(invalidField(`${at}.path`, path, why));
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!path.startsWith("/")) wrong("must be an absolute path");
    for (const one of wrongSequences) if (path.includes(one)) wrong(`must not contain '${one}'`);
    for (const one of wrongEnds) if (path.endsWith(one)) wrong(`cannot end with '${one}'`);
  } else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !path.startsWith("/")) wrong("must be an absolute path");
  } else errors.push(notSupported(`${at}.pathType`, pathType, pathTypes));
  return [...errors, ...validateBackend(backend, `${at}.backend`)];
}

function validateBackend({ service, resource }: Draft<IIngressBackend>, path: string): FieldError[] {
  if (service && resource) return [invalidField(path, "", "cannot set both resource and service backends")];
  if (resource) return validateReference(resource, `${path}.resource`);
  if (!service) return [invalidField(path, "", "resource or service backend is required")];
  const { name = "", port = {} } = service;
  const errors: FieldError[] =
    name === ""
      ? [required(`${path}.service.name`)]
      : dnsLabel(name).map((one) => invalidField(`${path}.service.name`, name, one));
  const { name: byName, number } = port;
  const at = `${path}.service.port`;
  if (byName && number) errors.push(invalidField(path, "", "cannot set both port name & port number"));
  else if (byName) errors.push(...portName(byName).map((one) => invalidField(`${at}.name`, byName, one)));
  else if (number) errors.push(...portNumber(number).map((one) => invalidField(`${at}.number`, number, one)));
  else errors.push(required(path, "port name or number is required"));
  return errors;
}

function validateReference(
  { apiGroup, kind = "", name = "" }: { apiGroup?: string; kind?: string; name?: string },
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (apiGroup !== undefined) {
    errors.push(...dnsSubdomain(apiGroup).map((one) => invalidField(`${path}.apiGroup`, apiGroup, one)));
  }
  for (const [field, value] of [
    ["kind", kind],
    ["name", name],
  ] as const) {
    if (value === "") errors.push(required(`${path}.${field}`));
    else errors.push(...pathSegment(value).map((one) => invalidField(`${path}.${field}`, value, one)));
  }
  return errors;
}

export const ingressClass = defineResource<IIngressClass>({
  group,
  kind: "IngressClass",
  generation: "spec",
  default({ spec }) {
    if (spec?.parameters !== undefined) spec.parameters.scope ??= "Cluster";
  },
  validate: ({ spec }) => validateClass(spec ?? {}),
  validateUpdate: ({ spec = {} }, { spec: before = {} }) => [
    ...immutable(spec.controller, before.controller, "spec.controller"),
    ...validateClass(spec),
  ],
  columns: [
    {
      ...nameColumn<IIngressClass>(),
      value: ({ metadata }) => {
        const isDefault = metadata.annotations?.["ingressclass.kubernetes.io/is-default-class"] === "true";
        return `${metadata.name ?? ""}${isDefault ? " (default)" : ""}`;
      },
    },
    ...columnsOf<IIngressClass>(
      text("Controller", ({ spec }) => spec?.controller ?? ""),
      text("Parameters", ({ spec }) => {
        const { kind, apiGroup, name } = spec?.parameters ?? {};
        return spec?.parameters === undefined ? "<none>" : `${kind}${apiGroup ? `.${apiGroup}` : ""}/${name}`;
      }),
    ).slice(1),
  ],
});

type ClassSpec = NonNullable<DraftObject<IIngressClass>["spec"]>;

function validateClass({ controller = "", parameters }: ClassSpec): FieldError[] {
  const path = "spec.controller";
  const errors: FieldError[] = controller.length > 250 ? [tooLong(path, 250)] : [];
  const [domain = "", ...rest] = controller.split("/");
  if (controller === "") errors.push(required(path));
  else if (domain === "" || rest.join("/") === "") {
    errors.push(invalidField(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  } else errors.push(...dnsSubdomain(domain).map((one) => invalidField(path, domain, one)));
  if (parameters === undefined) return errors;
  errors.push(...validateReference(parameters, "spec.parameters"));
  const { scope, namespace } = parameters;
  if (scope === "Namespace" && !namespace) {
    errors.push(required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'"));
  }
  return errors;
}

export const ipAddress = defineResource<IIPAddress>({
  group,
  kind: "IPAddress",
  nameRule(name) {
    const wrong = validateIp(name, "").map(({ detail }) => detail);
    const address = parseIp(name);
    if (wrong.length > 0 || address === undefined || formatIp(address) === name) return wrong;
    return [`must be in canonical form (${JSON.stringify(formatIp(address))})`];
  },
  validate: ({ spec }) => {
    if (spec?.parentRef === undefined) return [required("spec.parentRef")];
    return validateReference({ kind: spec.parentRef.resource, name: spec.parentRef.name }, "spec.parentRef").map(
      (one) => (one.field === "spec.parentRef.kind" ? { ...one, field: "spec.parentRef.resource" } : one),
    );
  },
  validateUpdate: ({ spec }, old) => immutable(spec?.parentRef, old.spec?.parentRef, "spec.parentRef"),
  selectableFields: {},
  columns: [
    nameColumn(),
    text("ParentRef", ({ spec }) => {
      const { group: of, resource = "", namespace, name } = spec?.parentRef ?? {};
      if (spec?.parentRef === undefined) return "<none>";
      return `${resource}${of ? `.${of}` : ""}${namespace ? `/${namespace}` : ""}/${name ?? ""}`.toLowerCase();
    }),
  ],
});

export const serviceCidr = defineResource<IServiceCIDR>({
  group,
  kind: "ServiceCIDR",
  hasStatus: true,
  validate({ spec }) {
    const ranges = spec?.cidrs ?? [];
    if (ranges.length === 0) return [required("spec.cidrs", "at least one CIDR required")];
    if (ranges.length > 2) return [invalidField("spec", spec, "may only hold up to 2 values")];
    const errors = ranges.flatMap((range, i) => validateCidr(range, `spec.cidrs[${i}]`));
    const families = new Set(ranges.map((range) => parseRange(range ?? "")?.family));
    if (errors.length > 0 || families.size === ranges.length) return errors;
    return [
      invalidField(
        "spec",
        spec,
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
      ),
    ];
  },
  // A second range of the other family may be added to one.
  validateUpdate({ spec }, old) {
    const [now, before] = [spec?.cidrs ?? [], old.spec?.cidrs ?? []];
    if (now.length < before.length || (before.length === 2 && now.length !== 2)) {
      return immutable(now, before, "spec.cidrs");
    }
    return before.flatMap((range, i) => immutable(now[i], range, `spec.cidrs[${i}]`));
  },
  columns: columnsOf<IServiceCIDR>(text("CIDRs", ({ spec }) => (spec?.cidrs ?? []).join(","))),
});
