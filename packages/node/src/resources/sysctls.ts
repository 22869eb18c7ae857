import type { Pod } from "@fjord/kube";

/** Those that a pod can set without anybody outside of it noticing. */
const safe = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
]);

/** The first kernel setting that the pod asks for and the node does not allow; `allowed` may end in an asterisk. */
export function forbiddenSysctl(pod: Pod, allowed: readonly string[] = []): string | undefined {
  const names = (pod.spec?.securityContext?.sysctls ?? []).map(({ name }) => name.replaceAll("/", "."));
  return names.find((name) => !safe.has(name) && !allowed.some((pattern) => covers(pattern, name)));
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
