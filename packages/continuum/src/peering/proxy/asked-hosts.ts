import { fieldsOf } from "../../fields-of.ts";

/** Stands for all requests whose host nobody else has. */
export const EVERY_HOST = "*";

/** By which records come into the DNS, for Ingresses and for Services. */
const DNS_NAMES = /^external-dns\.alpha\.kubernetes\.io\/(?:internal-)?hostname$/;

/**
 * By which some controllers are told of further hosts: lists with commas, and of some also expressions, conditions, or lines of their
 * own configuration, which may be about any host.
 */
const ALIASES = [
  DNS_NAMES,
  /\/(?:server-alias|redirect-from)(?:-regex)?$/,
  /^konghq\.com\/host-aliases$/,
  /^appgw\.ingress\.kubernetes\.io\/hostname-extension$/,
  /^alb\.ingress\.kubernetes\.io\/conditions\./,
  /^zalando\.org\/skipper-(?:predicate|routes)$/,
  /[/-]snippets?$/,
];
const HOST = /^(?:\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** The hosts that an Ingress, or a part of one, asks for: names, `*.` and a name, or `EVERY_HOST`. */
export function askedHosts(ingress: unknown): string[] {
  const { metadata, spec } = fieldsOf(ingress);
  const { rules, tls, defaultBackend } = fieldsOf(spec);
  const hosts = [
    ...listOf(rules).map((rule) => fieldsOf(rule).host),
    ...listOf(tls).flatMap((each) => listOf(fieldsOf(each).hosts)),
    ...(defaultBackend === undefined || defaultBackend === null ? [] : [EVERY_HOST]),
    ...namesIn(metadata, ALIASES),
  ];
  return [...new Set(hosts.map(hostOf))];
}

/** The names that a Service, or a part of one, asks to have in the DNS. */
export function askedNames(service: unknown): string[] {
  return [...new Set(namesIn(fieldsOf(service).metadata, [DNS_NAMES]).map(hostOf))];
}

function namesIn(metadata: unknown, keys: readonly RegExp[]): unknown[] {
  const { annotations } = fieldsOf(metadata);
  const named = Object.entries(fieldsOf(annotations)).filter(([key]) => keys.some((each) => each.test(key)));
  return named.flatMap(([, value]) => (typeof value === "string" ? value.split(",").map((each) => each.trim()) : []));
}

/** What is no host, such as an expression, may mean any. */
function hostOf(host: unknown): string {
  const name = typeof host === "string" ? host.toLowerCase() : "";
  return HOST.test(name) ? name : EVERY_HOST;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
