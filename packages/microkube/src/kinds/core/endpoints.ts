import type { IEndpoints } from "kubernetes-models/v1/Endpoints";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { validateProtocol } from "../pod/container-ports.ts";
import { sameMeaning } from "../values/equality.ts";
import { type EndpointRules, validateEndpointIp, validateIp } from "../values/ip-address.ts";
import { qualifiedName } from "../values/label.ts";
import { dnsLabel, dnsSubdomain } from "../values/name.ts";
import { portNumber } from "../values/port.ts";

type Endpoints = DraftObject<IEndpoints>;
type Subset = NonNullable<Endpoints["subsets"]>[number];
const shown = 3;

export const endpoints = (rules: EndpointRules) =>
  defineResource<IEndpoints>({
    group: "",
    kind: "Endpoints",
    createsOnUpdate: true,
    default(object) {
      for (const { ports = [] } of object.subsets ?? []) for (const port of ports) port.protocol ||= "TCP";
    },
    validate: (object) => validate(object, rules),
    validateUpdate: (object, old) => (sameMeaning(object.subsets, old.subsets) ? [] : validate(object, rules)),
    warnings: (_object, old) =>
      old === undefined ? ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"] : [],
    columns: columnsOf<IEndpoints>(text("Endpoints", (object) => endpointsText(object))),
  });

function validate({ subsets = [] }: Endpoints, rules: EndpointRules): FieldError[] {
  return subsets.flatMap((subset, i) => validateSubset(subset, `subsets[${i}]`, rules));
}

function validateSubset(
  { addresses = [], notReadyAddresses = [], ports = [] }: Subset,
  at: string,
  rules: EndpointRules,
): FieldError[] {
  const errors: FieldError[] = [];
  if (addresses.length === 0 && notReadyAddresses.length === 0) {
    errors.push(required(at, "must specify `addresses` or `notReadyAddresses`"));
  }
  errors.push(...addresses.flatMap((one, i) => validateAddress(one, `${at}.addresses[${i}]`, rules)));
  errors.push(...notReadyAddresses.flatMap((one, i) => validateAddress(one, `${at}.notReadyAddresses[${i}]`, rules)));
  for (const [i, { name = "", port = 0, protocol, appProtocol }] of ports.entries()) {
    const path = `${at}.ports[${i}]`;
    if (name !== "") errors.push(...dnsLabel(name).map((one) => invalidField(`${path}.name`, name, one)));
    else if (ports.length > 1) errors.push(required(`${path}.name`));
    errors.push(...portNumber(port).map((one) => invalidField(`${path}.port`, port, one)));
    errors.push(...validateProtocol(protocol, `${path}.protocol`));
    if (appProtocol === undefined) continue;
    errors.push(...qualifiedName(appProtocol).map((one) => invalidField(`${path}.appProtocol`, appProtocol, one)));
  }
  return errors;
}

function validateAddress(
  { ip = "", hostname, nodeName }: { ip?: string; hostname?: string; nodeName?: string },
  at: string,
  rules: EndpointRules,
): FieldError[] {
  const errors = validateIp(ip, `${at}.ip`);
  if (hostname) errors.push(...dnsLabel(hostname).map((one) => invalidField(`${at}.hostname`, hostname, one)));
  if (nodeName !== undefined) {
    errors.push(...dnsSubdomain(nodeName).map((one) => invalidField(`${at}.nodeName`, nodeName, one)));
  }
  return [...errors, ...validateEndpointIp(ip, `${at}.ip`, rules)];
}

function endpointsText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return "<none>";
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    if (ports.length === 0) return addresses.map(({ ip = "" }) => ip);
    return ports.flatMap(({ port }) => addresses.map(({ ip = "" }) => `${ip.includes(":") ? `[${ip}]` : ip}:${port}`));
  });
  const text = all.slice(0, shown).join(",");
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}
