import { fieldsOf } from "../../fields-of.ts";

/** Stands for all requests whose host nobody else has. */
export const EVERY_HOST = "*";

/** By which some controllers are told of further hosts; each is a list with commas, and of some also expressions. */
const ALIASES = [/\/server-alias(?:-regex)?$/, /^external-dns\.alpha\.kubernetes\.io\/(?:internal-)?hostname$/];
const HOST = /^(?:\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** The hosts that an Ingress, or a part of one, asks for: names, `*.` and a name, or `EVERY_HOST`. */
export function askedHosts(ingress: unknown): string[] {
  const { metadata, spec } = fieldsOf(ingress);
  const { rules, tls, defaultBackend } = fieldsOf(spec);
  const hosts = [
    ...listOf(rules).map((rule) => fieldsOf(rule).host),
    ...listOf(tls).flatMap((each) => listOf(fieldsOf(each).hosts)),
    ...(defaultBackend === undefined || defaultBackend === null ? [] : [EVERY_HOST]),
    ...aliasesIn(fieldsOf(fieldsOf(metadata).annotations)),
  ];
  return [...new Set(hosts.map(hostOf))];
}

function aliasesIn(annotations: Readonly<Record<string, unknown>>): unknown[] {
  const named = Object.entries(annotations).filter(([key]) => ALIASES.some((alias) => alias.test(key)));
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
