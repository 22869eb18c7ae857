import type { Verb } from "./rules.ts";

/** The parameters of a request, each at most once unless it may be repeated. */
export type KubeQuery = ReadonlyMap<string, readonly string[]>;

const READ = ["pretty"];
const LIST = [
  ...READ,
  "labelSelector",
  "fieldSelector",
  "limit",
  "continue",
  "resourceVersion",
  "resourceVersionMatch",
  "watch",
  "allowWatchBookmarks",
  "sendInitialEvents",
  "timeoutSeconds",
];
const WRITE = [...READ, "dryRun", "fieldManager", "fieldValidation"];
const DELETE = [...READ, "dryRun", "gracePeriodSeconds", "propagationPolicy"];

const byVerb: Readonly<Record<Verb, readonly string[]>> = {
  get: [...READ, "resourceVersion"],
  list: LIST,
  watch: LIST,
  create: WRITE,
  update: WRITE,
  patch: [...WRITE, "force"],
  delete: DELETE,
};

const bySubresource: Readonly<Record<string, readonly string[]>> = {
  log: [
    ...READ,
    "container",
    "follow",
    "previous",
    "sinceSeconds",
    "sinceTime",
    "timestamps",
    "tailLines",
    "limitBytes",
    "stream",
  ],
  exec: ["container", "command", "stdin", "stdout", "stderr", "tty"],
  attach: ["container", "stdin", "stdout", "stderr", "tty"],
  portforward: ["ports"],
};

const REPEATABLE = new Set(["command", "ports"]);
const MOST_PARAMETERS = 512;

/** Reads a query string. Undefined for one that cannot be read in exactly one way. */
export function parseKubeQuery(text: string): KubeQuery | undefined {
  const query = new Map<string, string[]>();
  if (text === "") return query;
  const parts = text.split("&");
  if (parts.length > MOST_PARAMETERS) return undefined;
  for (const part of parts) {
    const equals = part.indexOf("=");
    const name = equals === -1 ? part : part.slice(0, equals);
    // No name that we let pass needs an escape; Go also splits at semicolons in places.
    if (!/^[A-Za-z]{1,32}$/.test(name) || part.includes(";")) return undefined;
    const value = decode(equals === -1 ? "" : part.slice(equals + 1));
    if (value === undefined) return undefined;
    const earlier = query.get(name);
    if (earlier === undefined) query.set(name, [value]);
    else if (REPEATABLE.has(name)) earlier.push(value);
    else return undefined;
  }
  return query;
}

/** A parameter that requests of this sort do not have; undefined where all is well. */
export function unknownParameter(query: KubeQuery, verb: Verb, subresource: string | undefined): string | undefined {
  const known = (subresource === undefined ? byVerb[verb] : bySubresource[subresource]) ?? [];
  return [...query.keys()].find((name) => !known.includes(name));
}

/** As Kubernetes reads a flag: there, and neither `false` nor `0`. */
export function flag(query: KubeQuery, name: string): boolean {
  const value = query.get(name)?.[0];
  return value !== undefined && value !== "0" && value.toLowerCase() !== "false";
}

export function formatKubeQuery(query: KubeQuery): string {
  const parts = [...query].flatMap(([name, values]) => values.map((value) => `${name}=${encodeURIComponent(value)}`));
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", "%20"));
  } catch {
    // A broken escape: what it means is anyone's guess, so it means nothing.
    return undefined;
  }
}
