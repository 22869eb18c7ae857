/** Requests, one after the other, to a server that has nothing yet. */
export interface Session {
  readonly about: string;
  readonly steps: readonly Step[];
}

export type Step = readonly [method: string, path: string, body?: unknown, contentType?: string];

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const core = "/api/v1/namespaces/default";
const container = { name: "a", image: "nginx" };
const pod = (name: string, spec: Record<string, unknown> = {}, labels?: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...(labels && { labels }) },
  spec: { automountServiceAccountToken: false, containers: [container], ...spec },
});
const binding = (name: string, node: string, kind = "Node") => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name },
  target: { kind, name: node },
});
const eviction = (name: string) => ({ apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/** Of a key that nobody has any more. */
const request =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWE1IOENBUUF3SFRFTk1Bc0dBMVVFQXd3RWFtRnVaVEVNTUFvR0ExVUVDZ3dEWkdWMk1Ga3dFd1lIS29aSQp6ajBDQVFZSUtvWkl6ajBEQVFjRFFnQUVtYjJqc2kzNEVsc1hOVDZZK0RzUXNRcUl5YlJXWm54dm03WTY2VHMxCklOV0VLaUd2OVE2NW02bUd6dFB3NHBMZlA3TE5kaXM0RlFqN0dROXQ4L2pLTzZBQU1Bb0dDQ3FHU000OUJBTUMKQTBnQU1FVUNJQUVseHBmNC9PWklWd2wvWGxNMFFiSDFvTzRoZVRBd2kzU2FheEp5UjBiR0FpRUFteUZsRzBXYgpsSWtQdVpQUFRMakhXc25RZzdaeEk1TDd3dzUzVTZvbmxwZz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
const signingRequest = (name: string, spec: Record<string, unknown>) => ({
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name },
  spec,
});
const running = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };

export const sessions: readonly Session[] = [
  {
    about: "a pod is bound, reports and goes",
    steps: [
      ["POST", `${core}/pods`, pod("p")],
      ["POST", `${core}/pods/p/binding`, binding("other", "n1")],
      ["POST", `${core}/pods/p/binding`, binding("p", "n1", "Thing")],
      ["POST", `${core}/pods/p/binding`, binding("p", "n1")],
      ["POST", `${core}/pods/p/binding`, binding("p", "n2")],
      ["POST", `${core}/pods/nobody/binding`, binding("nobody", "n2")],
      ["GET", `${core}/pods/p`],
      [
        "PATCH",
        `${core}/pods/p/status`,
        { status: { phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] } },
        merge,
      ],
      ["PATCH", `${core}/pods/p/status`, { status: { qosClass: "Guaranteed" } }, merge],
      [
        "PATCH",
        `${core}/pods/p/status`,
        { status: { podIPs: [{ ip: "x" }], conditions: [{ type: "/", status: "True" }] } },
        merge,
      ],
      ["PATCH", `${core}/pods/p/status`, { spec: { hostname: "ignored" }, status: { message: "m" } }, merge],
      ["DELETE", `${core}/pods/p`],
      ["DELETE", `${core}/pods/p`, { gracePeriodSeconds: 0 }],
      ["GET", `${core}/pods/p`],
    ],
  },
  {
    about: "a pod that was never bound goes at once",
    steps: [
      ["POST", `${core}/pods`, pod("u")],
      ["DELETE", `${core}/pods/u`],
      ["GET", `${core}/pods/u`],
    ],
  },
  {
    about: "ephemeral containers come, and stay as they are",
    steps: [
      ["POST", `${core}/pods`, pod("e")],
      [
        "PATCH",
        `${core}/pods/e/ephemeralcontainers`,
        { spec: { ephemeralContainers: [{ name: "d", image: "x" }] } },
        strategic,
      ],
      [
        "PATCH",
        `${core}/pods/e/ephemeralcontainers`,
        { spec: { ephemeralContainers: [{ name: "d", image: "y" }] } },
        merge,
      ],
      ["PATCH", `${core}/pods/e/ephemeralcontainers`, { spec: { ephemeralContainers: [] } }, merge],
      [
        "PATCH",
        `${core}/pods/e/ephemeralcontainers`,
        {
          spec: {
            ephemeralContainers: [
              { name: "d", image: "x" },
              { name: "a", image: "x", ports: [{ containerPort: 1 }] },
            ],
          },
        },
        merge,
      ],
    ],
  },
  {
    about: "a pod is resized",
    steps: [
      [
        "POST",
        `${core}/pods`,
        pod("r", { containers: [{ ...container, resources: { requests: { cpu: "100m" }, limits: { cpu: "200m" } } }] }),
      ],
      [
        "PATCH",
        `${core}/pods/r/resize`,
        { spec: { containers: [{ name: "a", resources: { requests: { cpu: "150m" } } }] } },
        strategic,
      ],
      [
        "PATCH",
        `${core}/pods/r/resize`,
        {
          spec: {
            containers: [
              { name: "a", resources: { requests: { cpu: "200m", memory: "1Gi" }, limits: { memory: "1Gi" } } },
            ],
          },
        },
        strategic,
      ],
      [
        "PATCH",
        `${core}/pods/r/resize`,
        { spec: { containers: [{ name: "a", resources: { requests: null, limits: null } }] } },
        strategic,
      ],
      [
        "PATCH",
        `${core}/pods/r`,
        { spec: { containers: [{ name: "a", resources: { requests: { cpu: "150m" } } }] } },
        strategic,
      ],
    ],
  },
  {
    about: "evictions keep to budgets",
    steps: [
      ["POST", `${core}/pods`, pod("v", {}, { app: "v" })],
      ["POST", `${core}/pods/v/binding`, binding("v", "n1")],
      ["PATCH", `${core}/pods/v/status`, running, merge],
      [
        "POST",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        { metadata: { name: "b" }, spec: { minAvailable: 1, selector: { matchLabels: { app: "v" } } } },
      ],
      ["POST", `${core}/pods/v/eviction`, eviction("v")],
      [
        "PATCH",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
        {
          status: {
            observedGeneration: 1,
            currentHealthy: 1,
            desiredHealthy: 1,
            disruptionsAllowed: 0,
            expectedPods: 1,
          },
        },
        merge,
      ],
      ["POST", `${core}/pods/v/eviction`, eviction("v")],
      [
        "PATCH",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status",
        { status: { currentHealthy: 2, disruptionsAllowed: 1 } },
        merge,
      ],
      ["POST", `${core}/pods/v/eviction`, eviction("other")],
      ["POST", `${core}/pods/v/eviction`, eviction("v")],
      ["GET", `${core}/pods/v`],
      ["GET", "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b"],
      ["POST", `${core}/pods/nobody/eviction`, eviction("nobody")],
    ],
  },
  {
    about: "scales",
    steps: [
      [
        "POST",
        "/apis/apps/v1/namespaces/default/deployments",
        {
          metadata: { name: "d" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [container] } },
          },
        },
      ],
      ["GET", "/apis/apps/v1/namespaces/default/deployments/d/scale"],
      ["PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", { spec: { replicas: 3 } }, merge],
      ["PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", { spec: { replicas: -3 } }, merge],
      ["PATCH", "/apis/apps/v1/namespaces/default/deployments/d/scale", { spec: { replicas: 0 } }, merge],
      ["GET", "/apis/apps/v1/namespaces/default/deployments/d"],
      [
        "PATCH",
        "/apis/apps/v1/namespaces/default/deployments/d/status",
        { status: { replicas: 1, readyReplicas: 2, availableReplicas: 3 } },
        merge,
      ],
    ],
  },
  {
    about: "events are the same in both groups",
    steps: [
      [
        "POST",
        `${core}/events`,
        {
          metadata: { name: "e" },
          involvedObject: { kind: "Pod", name: "p", namespace: "default" },
          reason: "R",
          message: "m",
          type: "Normal",
          count: 2,
        },
      ],
      ["GET", "/apis/events.k8s.io/v1/namespaces/default/events/e"],
      [
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        {
          metadata: { name: "f" },
          regarding: { kind: "Pod", name: "p", namespace: "default" },
          eventTime: "2020-01-01T00:00:00.000000Z",
          reason: "R",
          note: "n",
          type: "Normal",
          action: "A",
          reportingController: "a.b/c",
          reportingInstance: "i",
        },
      ],
      ["GET", `${core}/events/f`],
      ["PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/f", { note: "other" }, merge],
      [
        "POST",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        { metadata: { name: "g" }, regarding: { kind: "Pod", namespace: "default" } },
      ],
    ],
  },
  {
    about: "autoscalers in both versions",
    steps: [
      [
        "POST",
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
        {
          metadata: { name: "h" },
          spec: {
            scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
            maxReplicas: 3,
            targetCPUUtilizationPercentage: 50,
          },
        },
      ],
      ["GET", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h"],
      ["GET", "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/h"],
    ],
  },
  {
    about: "services change their type",
    steps: [
      [
        "POST",
        `${core}/services`,
        {
          metadata: { name: "s" },
          spec: { clusterIP: "RANGE.9.9", ports: [{ port: 80, nodePort: 30010 }], type: "NodePort" },
        },
      ],
      [
        "POST",
        `${core}/services`,
        { metadata: { name: "t" }, spec: { clusterIP: "RANGE.9.9", ports: [{ port: 80 }] } },
      ],
      [
        "POST",
        `${core}/services`,
        {
          metadata: { name: "t" },
          spec: { clusterIP: "RANGE.9.10", ports: [{ port: 80, nodePort: 30010 }], type: "NodePort" },
        },
      ],
      [
        "POST",
        `${core}/services`,
        {
          metadata: { name: "t" },
          spec: { clusterIP: "RANGE.9.10", ports: [{ port: 80, nodePort: 3 }], type: "NodePort" },
        },
      ],
      ["PATCH", `${core}/services/s`, { spec: { type: "ClusterIP" } }, merge],
      ["PATCH", `${core}/services/s`, { spec: { type: "NodePort", ports: [{ port: 80, nodePort: 30011 }] } }, merge],
      [
        "PATCH",
        `${core}/services/s`,
        { spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 30012 } },
        merge,
      ],
      [
        "PATCH",
        `${core}/services/s/status`,
        { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }, { ip: "x", hostname: "A" }] } } },
        merge,
      ],
      ["PATCH", `${core}/services/s/status`, { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }, merge],
      ["PATCH", `${core}/services/s`, { spec: { type: "ExternalName", externalName: "x.y" } }, merge],
      [
        "POST",
        `${core}/services`,
        {
          metadata: { name: "t" },
          spec: { clusterIP: "RANGE.9.9", ports: [{ port: 80, nodePort: 30011 }], type: "NodePort" },
        },
      ],
    ],
  },
  {
    about: "namespaces end when they are finalized",
    steps: [
      ["POST", "/api/v1/namespaces", { metadata: { name: "mall" } }],
      ["PATCH", "/api/v1/namespaces/mall/status", { status: { phase: "Terminating" } }, merge],
      ["DELETE", "/api/v1/namespaces/mall"],
      ["GET", "/api/v1/namespaces/mall"],
      [
        "PUT",
        "/api/v1/namespaces/mall/finalize",
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "mall" }, spec: { finalizers: ["x"] } },
      ],
      [
        "PUT",
        "/api/v1/namespaces/mall/finalize",
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "mall" }, spec: { finalizers: [] } },
      ],
      ["GET", "/api/v1/namespaces/mall"],
    ],
  },
  {
    about: "a job gets its selector",
    steps: [
      [
        "POST",
        "/apis/batch/v1/namespaces/default/jobs",
        { metadata: { name: "j" }, spec: { template: { spec: { restartPolicy: "Never", containers: [container] } } } },
      ],
      ["PATCH", "/apis/batch/v1/namespaces/default/jobs/j", { spec: { completions: 3 } }, merge],
      ["PATCH", "/apis/batch/v1/namespaces/default/jobs/j", { spec: { parallelism: 3, suspend: true } }, merge],
      ["PATCH", "/apis/batch/v1/namespaces/default/jobs/j/status", { status: { active: -1, ready: 3 } }, merge],
    ],
  },
  {
    about: "a certificate is asked for and approved",
    steps: [
      ["POST", requests, signingRequest("c", { request, usages: ["client auth"], signerName: "a.b/c" })],
      [
        "POST",
        requests,
        signingRequest("d", { request: "eA==", usages: ["x", "x"], signerName: "a", expirationSeconds: 3 }),
      ],
      ["POST", requests, signingRequest("d", { request, signerName: "kubernetes.io/legacy-unknown" })],
      ["PATCH", `${requests}/c`, { spec: { usages: ["server auth"] } }, merge],
      ["PATCH", `${requests}/c/status`, { status: { conditions: [{ type: "Approved", status: "True" }] } }, merge],
      ["PATCH", `${requests}/c/approval`, { status: { conditions: [{ type: "Approved", status: "False" }] } }, merge],
      [
        "PATCH",
        `${requests}/c/approval`,
        { status: { conditions: [{ type: "Approved", status: "True", reason: "R", message: "m" }] } },
        merge,
      ],
      ["PATCH", `${requests}/c/approval`, { status: { conditions: [] } }, merge],
      ["PATCH", `${requests}/c/approval`, { status: { certificate: "eA==" } }, merge],
    ],
  },
  {
    about: "tokens are asked for with too short a life",
    steps: [
      [
        "POST",
        `${core}/serviceaccounts/default/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 5 } },
      ],
      [
        "POST",
        `${core}/serviceaccounts/nobody/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
      ],
    ],
  },
  {
    about: "states of volumes, nodes and quotas",
    steps: [
      ["POST", "/api/v1/nodes", { metadata: { name: "n" }, status: { capacity: { cpu: "2" } } }],
      [
        "PATCH",
        "/api/v1/nodes/n/status",
        { status: { addresses: [{ type: "InternalIP", address: "1.2.3.4" }], capacity: { cpu: "-1" } } },
        merge,
      ],
      [
        "PATCH",
        "/api/v1/nodes/n/status",
        {
          status: {
            addresses: [{ type: "InternalIP", address: "1.2.3.4" }],
            conditions: [{ type: "Ready", status: "True" }],
          },
        },
        merge,
      ],
      ["PATCH", "/api/v1/nodes/n", { status: { capacity: { cpu: "9" } }, spec: { unschedulable: true } }, merge],
      ["POST", `${core}/resourcequotas`, { metadata: { name: "q" }, spec: { hard: { pods: "100" } } }],
      [
        "PATCH",
        `${core}/resourcequotas/q/status`,
        { status: { hard: { pods: "100" }, used: { pods: "1", x: "-1" } } },
        merge,
      ],
      ["PATCH", `${core}/resourcequotas/q/status`, { status: { hard: { pods: "100" }, used: { pods: "1" } } }, merge],
      [
        "POST",
        `${core}/persistentvolumeclaims`,
        {
          metadata: { name: "claim" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
      [
        "PATCH",
        `${core}/persistentvolumeclaims/claim/status`,
        { status: { phase: "Bound", capacity: { storage: "1024Mi" }, accessModes: ["ReadWriteOnce"] } },
        merge,
      ],
      [
        "PATCH",
        `${core}/persistentvolumeclaims/claim`,
        { spec: { resources: { requests: { storage: "1Mi" } } } },
        merge,
      ],
      [
        "POST",
        "/apis/apps/v1/namespaces/default/statefulsets",
        {
          metadata: { name: "s" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [container] } },
          },
        },
      ],
      [
        "PATCH",
        "/apis/apps/v1/namespaces/default/statefulsets/s/status",
        { status: { replicas: 1, readyReplicas: 2, currentReplicas: -1 } },
        merge,
      ],
      ["GET", "/apis/apps/v1/namespaces/default/statefulsets/s/scale"],
    ],
  },
];
