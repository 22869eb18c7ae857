import type { KubeObject } from "@fjord/base";
import { SCRAPE_PORT } from "../command-line/gateway-flags.ts";
import { type AgentParts, scrapedAt } from "./agent-objects.ts";
import { FOLLOWER_NAME, GATEWAY_NAME } from "./link-rights.ts";

/** The values of what keeps nodes' networks at what links need; the chart puts its own expressions in their places. */
export interface LinkParts extends Pick<AgentParts, "namespace" | "image" | "pullPolicy" | "pullSecrets"> {
  /** Nodes with this label may carry links. Absent: all may. */
  readonly nodeLabel?: string;
  /** Whether others than the node itself may have its metrics. */
  readonly isScraped: boolean;
  /** Options of `fjord-agent gateway run` that not every installation has. */
  readonly options: readonly string[];
  readonly resources: unknown;
  readonly tolerations: unknown;
}

const METRICS = 7448;

/** Runs on every node that may carry the site's links. */
export function gatewayObjects(parts: LinkParts): KubeObject[] {
  const { nodeLabel } = parts;
  return [daemonSet(GATEWAY_NAME, "gateway", parts, nodeLabel === undefined ? [] : [expression(nodeLabel, "Exists")])];
}

/** Runs on every other node. */
export function followerObjects(parts: LinkParts & { readonly nodeLabel: string }): KubeObject[] {
  return [daemonSet(FOLLOWER_NAME, "node", parts, [expression(parts.nodeLabel, "DoesNotExist")])];
}

const expression = (key: string, operator: "Exists" | "DoesNotExist") => ({ key, operator });

function daemonSet(name: string, role: "gateway" | "node", parts: LinkParts, which: readonly object[]): KubeObject {
  const { namespace, isScraped } = parts;
  const labels = { "app.kubernetes.io/name": "fjord", "app.kubernetes.io/component": name.replace("fjord-", "") };
  const matchExpressions = [expression("fjord.dev/virtual-node", "DoesNotExist"), ...which];
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(isScraped && { annotations: scrapedAt(SCRAPE_PORT) }) },
        spec: {
          serviceAccountName: name,
          imagePullSecrets: parts.pullSecrets,
          // What it keeps is the node's own network.
          hostNetwork: true,
          dnsPolicy: "ClusterFirstWithHostNet",
          priorityClassName: "system-node-critical",
          nodeSelector: { "kubernetes.io/os": "linux" },
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
            },
          },
          tolerations: parts.tolerations,
          securityContext: { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: "RuntimeDefault" } },
          containers: [container(role, parts)],
          volumes: [
            { name: "sockets", emptyDir: { medium: "Memory" } },
            { name: "scratch", emptyDir: { medium: "Memory" } },
            ...(role === "gateway" ? [{ name: "tun", hostPath: { path: "/dev/net/tun", type: "CharDevice" } }] : []),
          ],
        },
      },
    },
  } as KubeObject;
}

function container(role: "gateway" | "node", parts: LinkParts): object {
  const { namespace, image, pullPolicy, options, resources, isScraped } = parts;
  const fromField = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return {
    name: role === "gateway" ? "gateway" : "follower",
    image,
    imagePullPolicy: pullPolicy,
    // What it said last is in the pod's status then, where `fjord init` finds it.
    terminationMessagePolicy: "FallbackToLogsOnError",
    args: [
      "fjord-agent",
      "gateway",
      "run",
      `--namespace=${namespace}`,
      "--node=$(NODE_NAME)",
      `--role=${role}`,
      `--metrics-listen=127.0.0.1:${METRICS}`,
      "--remove-at-end",
      ...(isScraped ? ["--scrape-address=$(NODE_IP)"] : []),
      ...options,
    ],
    env: [fromField("NODE_NAME", "spec.nodeName"), fromField("NODE_IP", "status.hostIP")],
    startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...probe("/healthz"), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5, failureThreshold: 3 },
    resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      // Interfaces, routes and firewall; nothing of files, processes or the kernel.
      capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] },
    },
    volumeMounts: [
      { name: "sockets", mountPath: "/var/run/wireguard" },
      { name: "scratch", mountPath: "/tmp" },
      ...(role === "gateway" ? [{ name: "tun", mountPath: "/dev/net/tun" }] : []),
    ],
  };
}

/** From the node itself, and nobody else. */
function probe(path: string): object {
  return { httpGet: { host: "127.0.0.1", path, port: METRICS, scheme: "HTTP" }, timeoutSeconds: 5 };
}
