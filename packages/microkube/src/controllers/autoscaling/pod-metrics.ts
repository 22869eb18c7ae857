import { inThousandths, type KubeClient, type Pod, parseQuantity } from "@fjord/kube";
import type { PodUsage } from "./replica-count.ts";

interface PodMetrics {
  metadata: { name: string };
  timestamp?: string;
  window?: string;
  containers?: { name: string; usage?: Record<string, string> }[];
}

/** What the pods of a selector use of a resource, each as a whole or of one container, by metrics.k8s.io. */
export async function podUsages(
  client: KubeClient,
  namespace: string,
  selector: string,
  resource: string,
  container: string | undefined,
  signal: AbortSignal,
): Promise<Map<string, PodUsage>> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const response = await client.raw("GET", path, { query: { labelSelector: selector }, signal });
  const { items = [] } = JSON.parse(response.body.toString("utf8")) as { items?: PodMetrics[] };
  const usages = new Map<string, PodUsage>();
  for (const { metadata, timestamp, window, containers = [] } of items) {
    const own = container === undefined ? containers : containers.filter(({ name }) => name === container);
    const amounts = own.map(({ usage }) => usage?.[resource]);
    if (own.length === 0 || amounts.some((amount) => amount === undefined)) continue;
    const usage = amounts.reduce((total, amount) => total + inThousandths(parseQuantity(amount ?? 0)), 0);
    usages.set(metadata.name, { usage, at: Date.parse(timestamp ?? "") || 0, windowMs: parseWindow(window) });
  }
  return usages;
}

function parseWindow(text = "30s"): number {
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    ms += Number(amount) * ({ ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit ?? "s"] ?? 0);
  }
  return ms;
}

/** What a pod asks for of a resource, in thousandths; undefined where one of its containers does not say. */
export function requestOf(pod: Pod, resource: string, container: string | undefined): number | undefined {
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const whole = pod.spec?.resources?.requests?.[resource];
  if (whole !== undefined && container === undefined) return inThousandths(parseQuantity(whole));
  let total = 0;
  for (const { name, resources } of [...(pod.spec?.containers ?? []), ...sidecars]) {
    if (container !== undefined && container !== name) continue;
    const request = resources?.requests?.[resource];
    if (request === undefined) return undefined;
    total += inThousandths(parseQuantity(request));
  }
  return total;
}
