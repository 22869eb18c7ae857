/** What a host's name means to whoever asks a cluster's DNS for it, or resolves it within a pod. */
export type NamedHost =
  /** One of the cluster's Services, or a pod behind it: `service` has all that stands before the namespace, `suffix` all behind. */
  | { readonly sort: "Service"; readonly service: string; readonly namespace: string; readonly suffix: string }
  /** Of the cluster or the machine, and of no namespace's Services. */
  | { readonly sort: "Inside" }
  | { readonly sort: "Address"; readonly address: string }
  /** `namespace`: by a pod's search domains it is a Service of that one, where there is such a namespace. */
  | { readonly sort: "Outside"; readonly namespace?: string };

/** Where nobody says otherwise, and what clusters of a set call each other's Services. */
export const CLUSTER_DOMAINS: readonly string[] = ["cluster.local", "clusterset.local"];

const INSIDE: NamedHost = { sort: "Inside" };
/** No top level is a number: what ends in one is read as an address, by some in shorter forms than others. */
const NUMBER = /^(?:\d+|0x[0-9a-f]*)$/;
/** Search domains are tried with names of a Service and of a pod behind it, in a namespace. */
const SEARCHED = [2, 3];

export function namedHost(host: string, domains: readonly string[] = CLUSTER_DOMAINS): NamedHost {
  const name = host.trim().toLowerCase().replace(/\.$/, "");
  if (name.includes(":") || NUMBER.test(name.split(".").at(-1) ?? "")) return { sort: "Address", address: name };
  const domain = domains.find((each) => name === each || name.endsWith(`.${each}`));
  if (domain !== undefined) return insideOf(name.slice(0, -domain.length - 1), `.${domain}`);
  const labels = name.split(".");
  const last = labels.at(-1);
  if (last === "svc" || last === "pod") return insideOf(name, "");
  if (labels.length === 1 || last === "localhost") return INSIDE;
  return { sort: "Outside", ...(last !== undefined && SEARCHED.includes(labels.length) && { namespace: last }) };
}

/** What names pods by their addresses says any address, whatever namespace it has. */
function insideOf(name: string, domain: string): NamedHost {
  const [, service, namespace] = /^(.+)\.([^.]+)\.svc$/.exec(name) ?? [];
  if (service === undefined || namespace === undefined) return INSIDE;
  return { sort: "Service", service, namespace, suffix: `svc${domain}` };
}

/** The domains of a cluster, as a pod's resolv.conf has them: `svc.DOMAIN` is among what is searched. */
export function clusterDomains(resolvConf: string): readonly string[] {
  const searched = [...resolvConf.matchAll(/^[ \t]*search[ \t]+(.*)$/gm)].flatMap(([, list = ""]) => list.split(/\s+/));
  const told = searched.flatMap((each) => /^svc\.(.+?)\.?$/.exec(each.toLowerCase())?.[1] ?? []);
  return [...new Set([...told, ...CLUSTER_DOMAINS])];
}
