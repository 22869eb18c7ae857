import { type LabelSelector, matchesSelector } from "@fjord/kube";
import type { Egress, Peer } from "./network-policy.ts";

const SYSTEM = "kube-system";
const DNS_PORTS = [
  { protocol: "UDP", port: 53 },
  { protocol: "TCP", port: 53 },
] as const;

/**
 * Whom pods may ask for names: at a provider that is its own cluster DNS, by what that is called everywhere, and on no other port.
 * Without it a policy that lets pods ask for names at home would keep its guests from all that they reach by name.
 */
export function dnsRules({ to = [], ports = [] }: Egress): Egress[] {
  const peers = to.filter(isSystem).map(({ podSelector }) => ({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": SYSTEM } },
    podSelector: podSelector ?? { matchLabels: { "k8s-app": "kube-dns" } },
  }));
  if (peers.length === 0) return [];
  const open = DNS_PORTS.filter(
    ({ protocol, port }) =>
      ports.length === 0 ||
      ports.some((each) => (each.protocol ?? "TCP") === protocol && includes(each.port, each.endPort, port)),
  );
  return open.length === 0 ? [] : [{ to: peers, ports: [...open] }];
}

function isSystem({ namespaceSelector }: Peer): boolean {
  const labels = { "kubernetes.io/metadata.name": SYSTEM };
  return namespaceSelector !== undefined && matchesSelector(namespaceSelector as LabelSelector, labels);
}

function includes(first: unknown, last: number | undefined, port: number): boolean {
  if (first === undefined || first === "dns" || first === "dns-tcp") return true;
  return Number(first) <= port && port <= (last ?? Number(first));
}
