import { EVERY_HOST } from "./asked-hosts.ts";

/** Why a consumer may not have a host for its Ingress; undefined where it may. `allowed` is undefined where the owner has not said which ones. */
export function hostProblem(
  host: string,
  allowed: readonly string[] | undefined,
  taken: ReadonlySet<string>,
): string | undefined {
  const ask = "ask the provider's owner for it in sharing.objects.ingressHosts of the Site";
  if (allowed === undefined && isWild(host)) return `${words(host)} is not for consumers unless it is allowed: ${ask}`;
  if (allowed !== undefined && !allowed.some((pattern) => covers(pattern, host)))
    return `${words(host)} is not among the hosts that consumers may have (${allowed.join(", ") || "none"}): ${ask}`;
  // What the owner has allowed in so many words may be below a name of theirs.
  const others = allowed === undefined ? [host, ...wildAbove(host)] : [host];
  const other = others.find((name) => name !== EVERY_HOST && taken.has(name));
  return other === undefined ? undefined : `${words(host)} is taken at the provider by another's Ingress: choose one`;
}

function isWild(host: string): boolean {
  return host.startsWith("*");
}

function covers(pattern: string, host: string): boolean {
  if (pattern === EVERY_HOST || pattern === host) return true;
  return pattern.startsWith("*.") && host.endsWith(pattern.slice(1));
}

/** `*.b.c` and `*.c` of `a.b.c`: some controllers let a wildcard stand for several labels. */
function wildAbove(host: string): string[] {
  const labels = host.split(".");
  return labels.slice(1).map((_, index) => ["*", ...labels.slice(index + 1)].join("."));
}

function words(host: string): string {
  return host === EVERY_HOST
    ? "an Ingress for all hosts (by a rule without one, a default backend, or an annotation that may mean any)"
    : host;
}
