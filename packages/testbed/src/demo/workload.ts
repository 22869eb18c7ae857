/** What the demo deploys: plain Kubernetes, nothing in it knows of Fjord. */
export const NAMESPACE = "hello";

/** A Deployment that its scheduler spreads evenly over all nodes, virtual ones too. */
export function helloDeployment(replicas: number): object {
  const labels = { app: "hello" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "hello", namespace: NAMESPACE },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "DoNotSchedule",
              // A node that takes no pods is not waited for.
              nodeTaintsPolicy: "Honor",
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [
            {
              name: "hello",
              image: "busybox:1",
              command: [
                "sh",
                "-c",
                "trap 'exit 0' TERM; while :; do echo hello from $HOSTNAME; sleep 1 & wait $!; done",
              ],
              resources: { requests: { cpu: "10m", memory: "16Mi" } },
            },
          ],
        },
      },
    },
  };
}
