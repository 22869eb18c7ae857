import { map } from "./containers.ts";
import { formatted, matches, string } from "./scalars.ts";
import { Schema } from "./schema.ts";
import type { StructuralSchema } from "./structural.ts";

const dnsLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const keyName = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const labelKeyPattern = `^(${dnsLabel}(\\.${dnsLabel})*/)?${keyName}$`;
const labelValuePattern = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";

/** The CEL expression for a label key, whose prefix may have up to 253 characters. */
function isLabelKey(operand: string, pattern = labelKeyPattern): string {
  return `size(${operand}) <= 317 && ${operand}.indexOf('/') <= 253 && ${matches(pattern, operand)}`;
}

/** An amount as Kubernetes writes it: `2`, `"500m"`, `"4Gi"`. */
export type Quantity = string | number;

const intOrString: StructuralSchema = {
  anyOf: [{ type: "integer" }, { type: "string" }],
  "x-kubernetes-int-or-string": true,
  maxLength: 32,
};

/** An amount that is not negative. */
export function quantity(): Schema<Quantity> {
  return new Schema<Quantity>({ typeName: "quantity", node: intOrString }, "required").rule(
    // Kubernetes takes any exponent; one of more than two digits is no amount of anything.
    `type(self) == int ? self >= 0 : isQuantity(self) && ${matches("^[+]?[0-9.]+([a-zA-Z]{0,2}|[eE][-+]?[0-9]{1,2})$")}`,
    "must be a quantity that is not negative, such as 2, 500m or 4Gi",
  );
}

const wholePattern = "^[+]?[0-9]+([kMGTPE]|[KMGTPE]i|[eE][+]?[0-9]{1,2})?$";

/** Whether a node cannot have a part of one: pods, and whatever Kubernetes does not know itself, such as example.com/gpu. */
export function isCounted(resource: string): boolean {
  return resource === "pods" || resource.includes("/");
}

/** Whether an amount is written as a whole number, as what is counted must be. */
export function isWhole(amount: Quantity): boolean {
  return typeof amount === "number" ? Number.isInteger(amount) : new RegExp(wholePattern).test(amount);
}

/** Amounts by resource name, as people write them. More names would exceed what a rule over quantities may cost. */
export function resources(limits: { minProperties?: number } = {}) {
  return map(quantity(), { ...limits, maxProperties: 12 })
    .rule(
      `self.all(name, ${isLabelKey("name")})`,
      "every resource must be named as Kubernetes names them, such as cpu or example.com/gpu",
    )
    .rule(
      // A node's status with a part of such a thing is refused as a whole.
      `self.all(name, (name != 'pods' && !name.contains('/')) || type(self[name]) == int || ${matches(wholePattern, "string(self[name])")})`,
      "pods, and resources with a prefix such as example.com/gpu, must be whole numbers",
    );
}

/** Amounts by resource name, as an agent reports them: checked by a pattern, which costs less at every status update. */
export function reportedResources() {
  const pattern = "^[0-9]+(\\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$";
  const node = { ...intOrString, pattern };
  return map(new Schema<Quantity>({ typeName: "quantity", node }, "required"), { maxProperties: 12 });
}

/** A Go-style duration that is longer than nothing: `90s`, `1h30m`. */
export function duration(limits: { minimum?: string } = {}): Schema<string> {
  const pattern = "^([0-9]{1,6}(\\.[0-9]{1,3})?(ms|s|m|h))+$";
  const { minimum = "1ms" } = limits;
  return new Schema<string>({ typeName: "duration", node: { type: "string", maxLength: 16 } }, "required").rule(
    `${matches(pattern)} && duration(self) >= duration('${minimum}')`,
    `must be a duration of at least ${minimum}, such as 90s or 1h30m`,
  );
}

/** A moment as RFC 3339 writes it. */
export function time(): Schema<string> {
  // The format alone also takes what other readers do not, such as a comma before the fraction.
  const pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?(Z|[-+][0-9]{2}:[0-9]{2})$";
  return new Schema({ typeName: "time", node: { type: "string", format: "date-time", pattern } }, "required");
}

/** A site's id: the base32 of a hash of its public key. */
export function siteId(): Schema<string> {
  return formatted({
    name: "site id",
    maxLength: 26,
    pattern: "^[a-z2-7]{26}$",
    words: "must be a site id: 26 characters out of a-z and 2-7, as in status.id of a Site",
  });
}

/** The name of a cluster-scoped or namespaced object. */
export function objectName(): Schema<string> {
  return formatted({
    name: "object name",
    maxLength: 253,
    pattern: `^${dnsLabel}(\\.${dnsLabel})*$`,
    words: "must be the name of an object: a-z, 0-9, '-' and '.', such as lively-wave",
  });
}

/** A name without dots that fits a label, such as a namespace's. */
export function labelName(): Schema<string> {
  return formatted({
    name: "name",
    maxLength: 63,
    pattern: `^${dnsLabel}$`,
    words: "must be a name of at most 63 characters a-z, 0-9 and '-', such as shop-staging",
  });
}

/** An object's uid. */
export function uid(): Schema<string> {
  return formatted({
    name: "uid",
    maxLength: 128,
    pattern: "^[-a-zA-Z0-9]+$",
    words: "must be the uid of an object, such as 4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
  });
}

/** Where an agent is reached. */
export function endpoint(): Schema<string> {
  const host = "([^:/?#@\\[\\]\\s]+|\\[[0-9a-fA-F:.]+\\])";
  const pattern = `^https://${host}(:[1-9][0-9]{0,4})?(/[^?#\\s]*)?$`;
  return new Schema<string>({ typeName: "endpoint", node: { type: "string", maxLength: 256 } }, "required").rule(
    `isURL(self) && ${matches(pattern)} && (url(self).getPort() == '' || int(url(self).getPort()) <= 65535)`,
    "must be an https URL of a host, and if need be a port and a path, such as https://site.example:7443",
  );
}

/** A range of addresses. */
export function cidr(): Schema<string> {
  return new Schema<string>({ typeName: "CIDR", node: { type: "string", maxLength: 43 } }, "required").rule(
    "isCIDR(self)",
    "must be a range of addresses, such as 10.42.0.0/16 or fd00:42::/56",
  );
}

/** One address. */
export function ipAddress(): Schema<string> {
  return new Schema<string>({ typeName: "IP address", node: { type: "string", maxLength: 39 } }, "required").rule(
    "isIP(self)",
    "must be an address, such as 192.168.7.20 or fd00:7::20",
  );
}

/** The name of a host, or of all below it. */
export function hostPattern(): Schema<string> {
  return formatted({
    name: "host pattern",
    maxLength: 253,
    pattern: `^(\\*|(\\*\\.)?${dnsLabel}(\\.${dnsLabel})*)$`,
    words: "must be a host, such as shop.example.com, all below one, such as *.example.com, or * for all",
  });
}

/** Where something listens. */
export function hostAndPort(): Schema<string> {
  const host = "(\\[[0-9a-f.:]+\\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)";
  const port = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
  const pattern = `^${host}:${port}$`;
  return formatted({
    name: "host and port",
    maxLength: 262,
    pattern,
    words: "must be a host and a port, such as wave.example:51820 or [2001:db8::1]:51820",
  });
}

/** The key of a label or a taint. */
export function labelKey(): Schema<string> {
  return new Schema<string>({ typeName: "label key", node: { type: "string", maxLength: 317 } }, "required").rule(
    isLabelKey("self"),
    "must be a label key, such as gpu or example.com/gpu",
  );
}

/** The value of a label or a taint. */
export function labelValue(): Schema<string> {
  return formatted({
    name: "label value",
    maxLength: 63,
    pattern: labelValuePattern,
    words: "must be a label value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends",
  });
}

/** Labels of an object. */
export function labels(limits: { maxProperties: number }) {
  return map(labelValue(), limits).rule(
    `self.all(key, ${isLabelKey("key")})`,
    "every key must be a label key, such as gpu or example.com/gpu",
  );
}

/** Annotations of an object. Unlike a label's, the prefix of a key may have capitals. */
export function annotations(limits: { maxProperties: number }) {
  const label = "[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?";
  return map(string({ maxLength: 262144 }), limits).rule(
    `self.all(key, ${isLabelKey("key", `^(${label}(\\.${label})*/)?${keyName}$`)})`,
    "every key must be an annotation key, such as note or example.com/note",
  );
}
