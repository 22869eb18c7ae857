import type { KubeObject } from "@fjord/base";
import { AGENT_NAME } from "./manifests.ts";

/** The values of an installation as they stand in its objects; the chart puts its own expressions in their places. */
export interface AgentParts {
  readonly namespace: string;
  readonly image: string;
  readonly pullPolicy: string;
  readonly pullSecrets: unknown;
  readonly replicas: unknown;
  /** Options of `fjord-agent run` that not every installation has. */
  readonly options: readonly string[];
  readonly serviceType: string;
  readonly servicePort: unknown;
  readonly resources: unknown;
  readonly nodeSelector: unknown;
  readonly tolerations: unknown;
}

export const ADMISSION_NAME = "fjord-admission";
const PORTS = { peers: 7443, admission: 7444, metrics: 7445 } as const;
const labels = { "app.kubernetes.io/name": "fjord", "app.kubernetes.io/component": "agent" };

/** What runs the agent as a pod of its own cluster. */
export function agentObjects(parts: AgentParts): KubeObject[] {
  return [peerService(parts), admissionService(parts), deployment(parts)];
}

function peerService({ namespace, serviceType, servicePort }: AgentParts): KubeObject {
  const spec = {
    type: serviceType,
    selector: labels,
    ports: [{ name: "peers", port: servicePort, targetPort: "peers", protocol: "TCP" }],
  };
  return { apiVersion: "v1", kind: "Service", metadata: { name: AGENT_NAME, namespace, labels }, spec } as KubeObject;
}

function admissionService({ namespace }: AgentParts): KubeObject {
  const spec = {
    selector: labels,
    ports: [{ name: "admission", port: 443, targetPort: "admission", protocol: "TCP" }],
  };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: ADMISSION_NAME, namespace, labels },
    spec,
  } as KubeObject;
}

function deployment(parts: AgentParts): KubeObject {
  const { namespace } = parts;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: AGENT_NAME, namespace, labels },
    spec: {
      replicas: parts.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations: scrapedAt(PORTS.metrics) }, spec: podSpec(parts) },
    },
  } as KubeObject;
}

/** Prometheus' customary annotations. */
export function scrapedAt(port: number): Record<string, string> {
  return { "prometheus.io/scrape": "true", "prometheus.io/port": String(port), "prometheus.io/path": "/metrics" };
}

function podSpec(parts: AgentParts): object {
  return {
    serviceAccountName: AGENT_NAME,
    imagePullSecrets: parts.pullSecrets,
    // It runs on the cluster's own machines: a guest of another site could not be its agent.
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "fjord.dev/virtual-node", operator: "DoesNotExist" }] }],
        },
      },
    },
    nodeSelector: parts.nodeSelector,
    tolerations: parts.tolerations,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container(parts)],
  };
}

function container({ namespace, image, pullPolicy, options, resources }: AgentParts): object {
  return {
    name: "agent",
    image,
    imagePullPolicy: pullPolicy,
    // What it said last is in the pod's status then, where `fjord init` finds it.
    terminationMessagePolicy: "FallbackToLogsOnError",
    args: [
      "fjord-agent",
      "run",
      `--namespace=${namespace}`,
      `--listen=0.0.0.0:${PORTS.peers}`,
      "--internal-address=$(POD_IP)",
      `--admission-port=${PORTS.admission}`,
      `--admission-service=${ADMISSION_NAME}:443`,
      `--metrics-listen=0.0.0.0:${PORTS.metrics}`,
      "--leader-elect",
      ...options,
    ],
    env: [{ name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
    ports: Object.entries(PORTS).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })),
    startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
    livenessProbe: { ...probe("/healthz"), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe("/readyz"), periodSeconds: 5, failureThreshold: 3 },
    resources,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
  };
}

function probe(path: string): object {
  return { httpGet: { path, port: "metrics", scheme: "HTTP" }, timeoutSeconds: 5 };
}

/**
 * Who may reach the agent: anybody the ports that ask for a certificate or a token (peers, admission, and the kubelet API of each
 * virtual node, on a port of its own: the API server comes from outside of what selectors can name), and pods of the cluster its
 * metrics.
 */
export function networkPolicy({ namespace }: Pick<AgentParts, "namespace">): KubeObject {
  const spec = {
    podSelector: { matchLabels: labels },
    policyTypes: ["Ingress"],
    ingress: [
      { ports: [PORTS.peers, PORTS.admission].map((port) => ({ port, protocol: "TCP" })) },
      { ports: [{ port: 10_000, endPort: 65_535, protocol: "TCP" }] },
      // Packets of gateways, which are on nodes: the agent takes them from these alone.
      { ports: [{ port: 10_000, endPort: 65_535, protocol: "UDP" }] },
      { from: [{ namespaceSelector: {} }], ports: [{ port: PORTS.metrics, protocol: "TCP" }] },
    ],
  };
  const metadata = { name: AGENT_NAME, namespace, labels };
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata, spec } as KubeObject;
}
