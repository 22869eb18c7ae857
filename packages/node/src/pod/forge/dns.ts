import type { Pod } from "@fjord/kube";
import { podText } from "../pod-containers.ts";
import type { DnsSettings, PodSettings } from "../pod-settings.ts";

const MOST_SERVERS = 3;
const MOST_SEARCHES = 32;
const LONGEST_SEARCHES = 2048;

/** The resolver settings of a pod; undefined where it uses the host's as they are. */
export function dnsOf(pod: Pod, settings: PodSettings): DnsSettings | undefined {
  const base = baseOf(pod, settings);
  const own = pod.spec?.dnsConfig;
  if (base === undefined && own === undefined) return undefined;
  const { servers, searches, options } = base ?? settings.hostDns ?? none;
  return bounded({
    servers: unique([...servers, ...(own?.nameservers ?? [])]),
    searches: unique([...searches, ...(own?.searches ?? [])]),
    options: mergeOptions(options, own?.options ?? []),
  });
}

const none: DnsSettings = { servers: [], searches: [], options: [] };

function baseOf(pod: Pod, settings: PodSettings): DnsSettings | undefined {
  if (pod.spec?.dnsPolicy === "None") return none;
  if (!usesClusterDns(pod) || settings.clusterDns.length === 0) return undefined;
  const { clusterDns, clusterDomain, hostDns } = settings;
  const cluster = [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, searches: [...cluster, ...(hostDns?.searches ?? [])], options: ["ndots:5"] };
}

function usesClusterDns(pod: Pod): boolean {
  const { dnsPolicy = "ClusterFirst", hostNetwork } = pod.spec ?? {};
  return dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork);
}

/** What to tell the owner of a pod that asks for the cluster's names on a node that does not know who resolves them. */
export function missingDns(pod: Pod, { clusterDns }: PodSettings): string | undefined {
  if (clusterDns.length > 0 || !usesClusterDns(pod)) return undefined;
  const policy = pod.spec?.dnsPolicy ?? "ClusterFirst";
  const why = "kubelet does not have ClusterDNS IP configured and cannot create Pod using";
  return `pod: "${podText(pod)}". ${why} "${policy}" policy. Falling back to "Default" policy.`;
}

/** An option that the pod gives replaces the one of its name. */
function mergeOptions(
  base: readonly string[],
  own: readonly { name?: string; value?: string | null }[],
): readonly string[] {
  const options = new Map(base.map((option) => [option.split(":")[0] ?? option, option]));
  for (const { name, value } of own) {
    if (name) options.set(name, value === undefined || value === null ? name : `${name}:${value}`);
  }
  return [...options.values()];
}

/** Resolvers ignore what is beyond these bounds, or refuse the whole file. */
function bounded({ servers, searches, options }: DnsSettings): DnsSettings {
  let length = -1;
  const kept = searches.slice(0, MOST_SEARCHES).filter((search) => {
    length += search.length + 1;
    return length <= LONGEST_SEARCHES;
  });
  return { servers: servers.slice(0, MOST_SERVERS), searches: kept, options };
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
