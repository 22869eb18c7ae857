import { fileURLToPath } from "node:url";
import { TIER_LABEL, VIRTUAL_NODE } from "@fjord/api";
import type { Deployment, Service } from "@fjord/kube";

/** Where the application lives. */
export const NAMESPACE = "shop";
export const FRONT_PORT = 30080;

/** The folder of its sources, and the programs there. */
export const SHOP_SOURCES = fileURLToPath(new URL("../../examples/shop/", import.meta.url));
export const SHOP_PROGRAMS = ["api", "worker", "front"] as const;
/** Made by the demo: it has Node and the sources where this machine has them. Pods that are processes need none. */
export const SHOP_IMAGE = "fjord.test/shop:1";
const PORT = 8080;

/** A front end at the edges, an API and a worker in the cloud: plain Kubernetes, nothing in it knows of Fjord. */
export function application(replicas: number): { services: Service[]; deployments: Deployment[] } {
  return {
    services: [service("api"), { ...service("front"), spec: { ...service("front").spec, ...nodePort() } }],
    deployments: [
      deployment("api", 1, inTheCloud()),
      deployment("worker", 1, inTheCloud()),
      deployment("front", replicas, atTheEdges()),
    ],
  };
}

function service(name: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: NAMESPACE },
    spec: { selector: { app: name }, ports: [{ port: PORT, targetPort: PORT }] },
  };
}

function nodePort(): NonNullable<Service["spec"]> {
  return { type: "NodePort", ports: [{ port: PORT, targetPort: PORT, nodePort: FRONT_PORT }] };
}

interface Requirement {
  key: string;
  operator: "In" | "DoesNotExist";
  values?: string[];
}

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;

function deployment(name: string, replicas: number, placement: Partial<PodSpec>): Deployment {
  const labels = { app: name };
  const from = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          ...placement,
          containers: [
            {
              name,
              image: SHOP_IMAGE,
              command: [process.execPath, "--max-semi-space-size=1", `${SHOP_SOURCES}${name}.mjs`],
              env: [
                { name: "POD_IP", ...from("status.podIP") },
                { name: "POD_NAME", ...from("metadata.name") },
                { name: "NODE_NAME", ...from("spec.nodeName") },
              ],
              ...(name !== "worker" && {
                readinessProbe: { httpGet: { path: "/healthz", port: PORT }, periodSeconds: 1 },
              }),
              resources: { requests: { cpu: "25m", memory: "64Mi" } },
            },
          ],
        },
      },
    },
  };
}

function inTheCloud(): Partial<PodSpec> {
  return required({ key: VIRTUAL_NODE, operator: "DoesNotExist" });
}

/** Evenly: a site that is away is not waited for. */
function atTheEdges(): Partial<PodSpec> {
  return {
    ...required({ key: TIER_LABEL, operator: "In", values: ["edge"] }),
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "DoNotSchedule",
        nodeTaintsPolicy: "Honor",
        labelSelector: { matchLabels: { app: "front" } },
      },
    ],
  };
}

function required(expression: Requirement): Partial<PodSpec> {
  const nodeSelectorTerms = [{ matchExpressions: [expression] }];
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } };
}
