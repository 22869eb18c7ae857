import { VIRTUAL_NODE } from "@fjord/api";
import type { Deployment } from "@fjord/kube";

/** Work that comes in rushes: where it is more than a site can do, others do the rest. */
export const RUSH = "rush";
export const RUSH_APP = "crunch";
/** While there is no rush. */
export const CALM_REPLICAS = 2;

/** At home as long as there is room: plain Kubernetes, and nothing in it names a site. */
export function rush(cpu: string): Deployment {
  const labels = { app: RUSH_APP };
  const atHome = { matchExpressions: [{ key: VIRTUAL_NODE, operator: "DoesNotExist" as const }] };
  const script = "trap 'exit 0' TERM; while :; do echo crunching at $NODE_NAME; sleep 2 & wait $!; done";
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: RUSH_APP, namespace: RUSH },
    spec: {
      replicas: CALM_REPLICAS,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: atHome }],
            },
          },
          containers: [
            {
              name: RUSH_APP,
              image: "busybox:1",
              command: ["sh", "-c", script],
              env: [{ name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
              resources: { requests: { cpu, memory: "32Mi" } },
            },
          ],
        },
      },
    },
  };
}
