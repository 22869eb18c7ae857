import { casesOf, type KindCase } from "./case.ts";

const template = (spec: Record<string, unknown> = {}, labels: Record<string, string> = { app: "a" }) => ({
  metadata: { labels },
  spec: { containers: [{ name: "a", image: "nginx" }], ...spec },
});
const selector = { matchLabels: { app: "a" } };
const of = (spec: Record<string, unknown>, name = "w") => ({ metadata: { name }, spec });

export const workloadCases: KindCase[] = [
  ...casesOf("apps", "Deployment", {
    plain: [
      of({ selector, template: template() }),
      { spec: { replicas: 3 } },
      { spec: { selector: { matchLabels: { app: "b" } } } },
      { metadata: { annotations: { a: "b" } } },
      { metadata: { labels: { a: "b" } } },
    ],
    recreate: of({ selector, template: template(), strategy: { type: "Recreate" }, replicas: 0 }),
    "recreate with rolling": of({ selector, template: template(), strategy: { type: "Recreate", rollingUpdate: {} } }),
    "bad numbers": of({
      selector,
      template: template({ restartPolicy: "Never", activeDeadlineSeconds: 3 }),
      replicas: -1,
      minReadySeconds: 10,
      progressDeadlineSeconds: 5,
      revisionHistoryLimit: -1,
      strategy: { rollingUpdate: { maxSurge: "x", maxUnavailable: "200%" } },
    }),
    "nothing may change": of({
      selector,
      template: template(),
      strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
    }),
    "no selector": of({ template: template() }),
    "empty selector": of({ selector: {}, template: template() }),
    "other selector": of({ selector: { matchLabels: { app: "b" } }, template: template() }),
    "bad template": of({
      selector,
      template: { metadata: { labels: { app: "a", "/": "" } }, spec: { containers: [] } },
    }),
  }),
  ...casesOf("apps", "ReplicaSet", {
    plain: [of({ selector, template: template() }), { spec: { replicas: -1 } }],
    empty: of({ selector: {}, template: template() }),
  }),
  ...casesOf("", "ReplicationController", {
    plain: of({ template: template() }),
    "no template": of({ selector: { a: "b" } }),
    bad: of({ selector: { a: "b" }, replicas: -1, template: template({ restartPolicy: "OnFailure" }) }),
  }),
  ...casesOf("apps", "StatefulSet", {
    plain: [
      of({
        serviceName: "s",
        selector,
        template: template({
          containers: [{ name: "a", image: "x", volumeMounts: [{ name: "data", mountPath: "/d" }] }],
        }),
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      }),
      { spec: { replicas: 5, updateStrategy: { type: "OnDelete", rollingUpdate: null } } },
      { spec: { serviceName: "other" } },
      { spec: { podManagementPolicy: "Parallel" } },
    ],
    bad: of(
      {
        serviceName: "A",
        selector,
        template: template(),
        podManagementPolicy: "X",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -1 } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "X" },
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["X"] } }],
        ordinals: { start: -1 },
      },
      "a.b",
    ),
  }),
  ...casesOf("apps", "DaemonSet", {
    plain: [
      of({ selector, template: template() }),
      { spec: { template: { spec: { hostNetwork: true } } } },
      { spec: { minReadySeconds: 3 } },
    ],
    bad: of({
      selector: { matchLabels: { x: "y" } },
      template: template(),
      updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    }),
    none: of({ selector, template: template(), updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
  }),
  ...casesOf("apps", "ControllerRevision", {
    plain: [{ metadata: { name: "c" }, data: { a: 1 }, revision: 1 }, { data: { a: 2 } }, { revision: 2 }],
    bad: { metadata: { name: "c" }, revision: -1 },
  }),
  ...casesOf("batch", "Job", {
    "always restarted": of({ template: template() }),
    bad: of({
      template: template({ restartPolicy: "OnFailure" }),
      parallelism: -1,
      completions: -1,
      backoffLimit: -1,
      completionMode: "X",
      maxFailedIndexes: 1,
      podFailurePolicy: {
        rules: [
          { action: "X", onExitCodes: { operator: "In", values: [2, 0, 2], containerName: "z" } },
          { action: "", onPodConditions: [{ type: "/" }] },
        ],
      },
      podReplacementPolicy: "X",
    }),
    "bad success": of({
      template: template({ restartPolicy: "Never" }),
      completionMode: "Indexed",
      completions: 3,
      parallelism: 2,
      successPolicy: { rules: [{}, { succeededIndexes: "1-5", succeededCount: 9 }, { succeededIndexes: "2,1" }] },
    }),
  }),
  ...casesOf("batch", "CronJob", {
    plain: [
      of({ schedule: "*/5 * * * *", jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } } }),
      { spec: { suspend: true } },
      { spec: { schedule: "@daily" } },
    ],
    bad: of({
      schedule: "* * *",
      timeZone: "Nowhere/Land",
      concurrencyPolicy: "X",
      startingDeadlineSeconds: -1,
      jobTemplate: { spec: { manualSelector: true, template: template() } },
    }),
    "bad schedule": of(
      { schedule: "61 * * * *", jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } } },
      "a".repeat(53),
    ),
  }),
  ...casesOf("policy", "PodDisruptionBudget", {
    plain: [of({ minAvailable: 1, selector }), { spec: { minAvailable: "50%" } }],
    both: of({ minAvailable: 1, maxUnavailable: "200%", selector, unhealthyPodEvictionPolicy: "X" }),
    bad: of({ minAvailable: -1, selector: { matchExpressions: [{ key: "a", operator: "X" }] } }),
  }),
  ...casesOf("autoscaling", "HorizontalPodAutoscaler", {
    plain: of({ scaleTargetRef: { kind: "Deployment", name: "x", apiVersion: "apps/v1" }, maxReplicas: 3 }),
    behaving: of({
      scaleTargetRef: { kind: "Deployment", name: "x" },
      maxReplicas: 3,
      behavior: { scaleDown: { stabilizationWindowSeconds: 5 } },
    }),
    bad: of({ scaleTargetRef: {}, maxReplicas: 0, minReplicas: 0 }),
    "bad metrics": of({
      scaleTargetRef: { kind: "Deployment", name: "x" },
      maxReplicas: 3,
      metrics: [
        { type: "Pods" },
        { type: "X" },
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } } },
      ],
      behavior: {
        scaleUp: {
          policies: [{ type: "X", value: 0, periodSeconds: 9999 }],
          selectPolicy: "Y",
          stabilizationWindowSeconds: -1,
        },
      },
    }),
  }),
];
