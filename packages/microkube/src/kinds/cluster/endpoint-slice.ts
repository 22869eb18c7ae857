import type { IEndpointSlice } from "kubernetes-models/discovery.k8s.io/v1/EndpointSlice";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { tooMany } from "../object-meta.ts";
import { protocols } from "../pod/container-ports.ts";
import { immutable, sameMeaning } from "../values/equality.ts";
import { type EndpointRules, formatIp, parseIp, validateEndpointIp, validateIp } from "../values/ip-address.ts";
import { labelValue, qualifiedName } from "../values/label.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";

type Slice = DraftObject<IEndpointSlice>;
type Endpoint = NonNullable<Slice["endpoints"]>[number];
const types = ["FQDN", "IPv4", "IPv6"];
const shown = 3;

export const endpointSlice = (rules: EndpointRules) =>
  defineResource<IEndpointSlice>({
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    createsOnUpdate: true,
    generation: (object, old) =>
      ["endpoints", "ports", "addressType"].some(
        (field) => !sameMeaning(object[field as keyof Slice], old[field as keyof Slice]),
      ) || !sameMeaning(object.metadata.labels, old.metadata.labels),
    default({ ports = [] }) {
      for (const port of ports) {
        port.name ??= "";
        port.protocol ??= "TCP";
      }
    },
    validate: (object) => validate(object, rules),
    validateUpdate: (object, old) => [
      ...validate(sameMeaning(object.endpoints, old.endpoints) ? { ...object, endpoints: [] } : object, rules),
      ...immutable(object.addressType, old.addressType, "addressType"),
    ],
    columns: columnsOf<IEndpointSlice>(
      text("AddressType", ({ addressType }) => addressType ?? ""),
      text("Ports", ({ ports }) =>
        list(
          (ports ?? []).map(({ port, name }) => String(port ?? (name || "*"))),
          "<unset>",
        ),
      ),
      text("Endpoints", ({ endpoints }) =>
        list(
          (endpoints ?? []).flatMap(({ addresses = [] }) => addresses.map((one) => one ?? "")),
          "<unset>",
        ),
      ),
    ),
  });

function list(items: readonly string[], none: string): string {
  if (items.length === 0) return none;
  const text = items.slice(0, shown).join(",");
  return items.length > shown ? `${text} + ${items.length - shown} more...` : text;
}

function validate({ addressType = "", ports = [], endpoints = [] }: Slice, rules: EndpointRules): FieldError[] {
  const errors: FieldError[] = [];
  if (addressType === "") errors.push(required("addressType"));
  else if (!types.includes(addressType)) errors.push(notSupported("addressType", addressType, types));
  const names = new Set<string>();
  for (const [i, { name = "", protocol, appProtocol }] of ports.entries()) {
    const at = `ports[${i}]`;
    if (name !== "") errors.push(...dnsLabel(name).map((one) => invalidField(`${at}.name`, name, one)));
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (protocol === undefined) errors.push(required(`${at}.protocol`));
    else if (!protocols.includes(protocol)) errors.push(notSupported(`${at}.protocol`, protocol, protocols));
    if (appProtocol === undefined) continue;
    errors.push(...qualifiedName(appProtocol).map((one) => invalidField(`${at}.appProtocol`, appProtocol, one)));
  }
  if (endpoints.length > 1000) return [...errors, tooMany("endpoints", endpoints.length, 1000)];
  return [...errors, ...endpoints.flatMap((one, i) => validateEndpoint(one, addressType, `endpoints[${i}]`, rules))];
}

function validateEndpoint(endpoint: Endpoint, type: string, at: string, rules: EndpointRules): FieldError[] {
  const { addresses = [], nodeName, hostname, hints } = endpoint;
  const path = `${at}.addresses`;
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(required(path, "must contain at least 1 address"));
  else if (addresses.length > 100) errors.push(tooMany(path, addresses.length, 100));
  errors.push(...addresses.flatMap((address = "", i) => validateAddress(address, type, path, i, rules)));
  if (nodeName !== undefined) {
    errors.push(...dnsSubdomain(nodeName).map((one) => invalidField(`${at}.nodeName`, nodeName, one)));
  }
  if (hostname !== undefined) {
    errors.push(...dnsLabel(hostname).map((one) => invalidField(`${at}.hostname`, hostname, one)));
  }
  const zones = hints?.forZones ?? [];
  if (zones.length > 8) return [...errors, tooMany(`${at}.hints.forZones`, zones.length, 8)];
  for (const [i, { name = "" }] of zones.entries()) {
    const zone = `${at}.hints.forZones[${i}].name`;
    if (zones.findIndex((one) => one.name === name) < i) errors.push(duplicate(zone, name));
    errors.push(...labelValue(name).map((one) => invalidField(zone, name, one)));
  }
  return errors;
}

function validateAddress(address: string, type: string, path: string, i: number, rules: EndpointRules): FieldError[] {
  const at = `${path}[${i}]`;
  if (type === "FQDN") {
    const name = address.replace(/\.$/, "");
    const wrong = dnsSubdomain(name).join(",");
    if (name === "") return [required(at)];
    if (wrong !== "") return [invalidField(at, name, wrong)];
    if (name.includes(".")) return [];
    return [invalidField(at, name, "should be a domain with at least two segments separated by dots")];
  }
  const wrong = validateIp(address, at);
  const ip = parseIp(address);
  if (wrong.length > 0 || ip === undefined) return wrong;
  if (type === "IPv6" && formatIp(ip) !== address) {
    return [invalidField(at, address, `must be in canonical form (${JSON.stringify(formatIp(ip))})`)];
  }
  const errors = ip.family === type ? [] : [invalidField(path, address, `must be an ${type} address`)];
  return [...errors, ...validateEndpointIp(address, at, rules)];
}
