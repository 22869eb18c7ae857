// docs/reference/metrics.md: what each process tells at /metrics, read from what makes it.
import { prometheusMetrics, Registry, type SharedCaches } from "@fjord/kube";
import { agentMetrics } from "../../packages/agent/src/agent-metrics.ts";
import { carriedMetrics } from "../../packages/agent/src/carried-metrics.ts";
import { stateMetrics } from "../../packages/agent/src/state-metrics.ts";
import { tcpMetrics } from "../../packages/agent/src/tcp-metrics.ts";
import { GatewayMetrics } from "../../packages/continuum/src/network/gateway/gateway-metrics.ts";
import { ServerMetrics } from "../../packages/microkube/src/server/server-metrics.ts";
import { processMetrics } from "../../packages/node/src/kubelet-api/process-metrics.ts";

export interface Described {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

export function agentDescriptions(): Described[] {
  const registry = new Registry();
  const empty = { open: () => ({ cache: { list: () => [], get: () => undefined } }) };
  stateMetrics(registry, empty as unknown as SharedCaches);
  agentMetrics(registry);
  carriedMetrics(registry, (site) => site);
  tcpMetrics(registry, (site) => site);
  prometheusMetrics(registry);
  return descriptionsIn(registry);
}

export function gatewayDescriptions(): Described[] {
  const registry = new Registry();
  new GatewayMetrics({ registry, now: () => 0 });
  return descriptionsIn(registry);
}

function descriptionsIn(registry: Registry): Described[] {
  return registry
    .list()
    .map(({ name, type, help, labelNames }) => ({ name, type, help, labels: labelNames }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export async function metricsReference(): Promise<{ path: string; text: string }> {
  const facts = { residentBytes: 0, heapBytes: 0, cpuMicroseconds: 0, startedAt: 0, pods: 0, streams: 0 };
  const text = `# Metrics

Every process serves \`/metrics\` in Prometheus' text format. Names are stable from release to release. This page is written by
\`npm run generate\` from the code that makes them; [monitoring](../monitoring.md) says how to use them.

## fjord-agent

At \`--metrics-listen\` (127.0.0.1:7445; port \`metrics\` of the pod in a cluster), without authentication. Names that do not begin
with \`fjord_\` are those of controller-runtime and client-go, so that dashboards made for these show the agent too.

${table(agentDescriptions())}

## fjord-agent gateway

At \`--metrics-listen\` of \`fjord-agent gateway run\` (127.0.0.1:7448), and at port 7449 of \`--scrape-address\`, which the installation has be the node's, without authentication. The label \`site\` is what the peer is called here.

${table(gatewayDescriptions())}

## fjord-node

At the kubelet API (port 10250), for whoever may \`get\` \`nodes/metrics\`; \`/metrics/resource\` and \`/stats/summary\` beside it are as
the kubelet's.

${table(described(processMetrics(facts)))}

## microkube

At the API server, for whoever may \`get\` \`/metrics\`. The names are kube-apiserver's.

${table(described(new ServerMetrics().text()))}
`;
  return { path: "docs/reference/metrics.md", text };
}

function described(text: string): Described[] {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type]));
  const labels: Readonly<Record<string, readonly string[]>> = {
    apiserver_request_total: ["verb", "group", "version", "resource", "code"],
    apiserver_request_duration_seconds: ["verb"],
  };
  return [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = "", help = ""]) => ({
    name,
    help,
    type: types.get(name) ?? "",
    labels: labels[name] ?? [],
  }));
}

function table(metrics: readonly Described[]): string {
  const rows = metrics.map(
    ({ name, type, help, labels }) =>
      `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`,
  );
  return ["| Name | Type | Labels | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}
