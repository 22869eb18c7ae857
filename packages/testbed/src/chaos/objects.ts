import { type Offloading, REFLECT_ANNOTATION } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import { ConfigMap, Deployment, Job, Pod, Secret, Service, StatefulSet } from "@fjord/kube";
import type { BarePod, Place, PodsStrategy, Replicated, Workload } from "./wishes.ts";

/** On pods of Jobs, and so on their guests: what the node that simulates them is to let them do. */
const FINISHES = { "simulated.fjord.dev/exit-after": "500ms-2s" };
/** On pods: what made them. */
export const WORKLOAD_LABEL = "chaos.fjord.dev/workload";
export const VERSION_LABEL = "chaos.fjord.dev/version";

export const workloadKinds = { ConfigMap, Deployment, Job, Pod, Secret, Service, StatefulSet } as unknown as Readonly<
  Record<Workload["kind"], Kind<KubeObject>>
>;

/** The object that a wish asks for. */
export function forgeWorkload(place: Place, what: Workload): KubeObject {
  const { kind, name } = what;
  const { group, version } = workloadKinds[kind];
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const metadata = { name, namespace: place.name, labels: { chaos: "true" } };
  switch (what.kind) {
    case "Deployment":
    case "StatefulSet":
      return {
        apiVersion,
        kind,
        metadata,
        spec: {
          replicas: what.replicas,
          selector: { matchLabels: { [WORKLOAD_LABEL]: name } },
          template: { metadata: { labels: podLabels(what) }, spec: podSpec(what) },
          ...(kind === "StatefulSet" && { serviceName: name, podManagementPolicy: "Parallel" }),
        },
      } as KubeObject;
    case "Job":
      return {
        apiVersion,
        kind,
        metadata,
        spec: {
          completions: what.completions,
          parallelism: what.completions,
          backoffLimit: 100,
          template: {
            metadata: { labels: { [WORKLOAD_LABEL]: name }, annotations: FINISHES },
            spec: { ...podSpec({ version: 1 }), restartPolicy: "Never" },
          },
        },
      } as KubeObject;
    case "Pod":
      return {
        apiVersion,
        kind,
        metadata: { ...metadata, labels: podLabels(what) },
        spec: podSpec(what),
      } as KubeObject;
    case "Service":
      return {
        apiVersion,
        kind,
        metadata,
        spec: { selector: { [WORKLOAD_LABEL]: "none" }, ports: [{ name: "http", port: 8000 + what.version }] },
      } as KubeObject;
    default:
      return {
        apiVersion,
        kind,
        metadata: { ...metadata, annotations: what.always ? { [REFLECT_ANNOTATION]: "true" } : {} },
        data: { version: btoa(String(what.version)) },
      } as KubeObject;
  }
}

export function forgeOffloading(place: Place, pods: PodsStrategy): Offloading {
  return {
    apiVersion: "fjord.dev/v1alpha1",
    kind: "Offloading",
    metadata: { name: "offloading", namespace: place.name },
    spec: { pods } as Offloading["spec"],
  };
}

function podLabels({ name, version }: Replicated | BarePod): Record<string, string> {
  return { [WORKLOAD_LABEL]: name, [VERSION_LABEL]: String(version) };
}

function podSpec(what: { version: number; config?: string; secret?: string }) {
  const envFrom = [
    ...(what.config === undefined ? [] : [{ configMapRef: { name: what.config, optional: true } }]),
    ...(what.secret === undefined ? [] : [{ secretRef: { name: what.secret, optional: true } }]),
  ];
  return {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: `chaos.example/main:${what.version}`,
        resources: { requests: { cpu: "10m", memory: "10Mi" } },
        envFrom,
      },
    ],
  };
}
