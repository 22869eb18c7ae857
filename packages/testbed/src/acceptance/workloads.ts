/** The objects that the acceptance suite deploys. */
export interface WorkloadOptions {
  readonly namespace: string;
  readonly replicas?: number;
  /** Evenly over all nodes that take pods. */
  readonly spread?: boolean;
  readonly nodeName?: string;
  readonly command?: readonly string[];
  readonly image?: string;
  readonly version?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly priorityClass?: string;
}

const FOREVER = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"];

export function namespace(name: string): object {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

function template(name: string, options: WorkloadOptions) {
  const labels = { app: name };
  const { requests, limits, nodeName, annotations, command = FOREVER, image = "busybox:1", version = "1" } = options;
  return {
    metadata: { labels, ...(annotations && { annotations }) },
    spec: {
      terminationGracePeriodSeconds: 1,
      ...(options.priorityClass !== undefined && { priorityClassName: options.priorityClass }),
      ...(nodeName !== undefined && { nodeSelector: { "kubernetes.io/hostname": nodeName } }),
      ...(options.spread && {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "DoNotSchedule",
            nodeTaintsPolicy: "Honor",
            labelSelector: { matchLabels: labels },
          },
        ],
      }),
      containers: [
        {
          name: "main",
          image,
          command,
          env: [{ name: "VERSION", value: version }],
          ...((requests || limits) && { resources: { ...(requests && { requests }), ...(limits && { limits }) } }),
        },
      ],
    },
  };
}

export function deployment(name: string, options: WorkloadOptions): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: options.namespace },
    spec: {
      replicas: options.replicas ?? 2,
      selector: { matchLabels: { app: name } },
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: template(name, options),
    },
  };
}

export function statefulSet(name: string, options: WorkloadOptions): object {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: options.namespace },
    spec: {
      replicas: options.replicas ?? 2,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: template(name, options),
    },
  };
}

export function pod(name: string, options: WorkloadOptions): object {
  const { metadata, spec } = template(name, options);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name, namespace: options.namespace },
    spec: { ...spec, restartPolicy: "Never" },
  };
}

export function job(name: string, options: WorkloadOptions): object {
  const { metadata, spec } = template(name, options);
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: options.namespace },
    spec: { backoffLimit: 0, template: { metadata, spec: { ...spec, restartPolicy: "Never" } } },
  };
}

/** A Job each minute, one after the other. */
export function cronJob(name: string, options: WorkloadOptions): object {
  const { spec: jobSpec } = job(name, options) as { spec: object };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name, namespace: options.namespace },
    spec: { schedule: "* * * * *", concurrencyPolicy: "Forbid", jobTemplate: { spec: jobSpec } },
  };
}

export function disruptionBudget(name: string, options: { namespace: string; minAvailable: number }): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: options.namespace },
    spec: { minAvailable: options.minAvailable, selector: { matchLabels: { app: name } } },
  };
}

/** Between one and `most` replicas of a Deployment, by what its pods use of the processors that they asked for. */
export function autoscaler(name: string, options: { namespace: string; most: number; percent: number }): object {
  const utilization = { type: "Utilization", averageUtilization: options.percent };
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, namespace: options.namespace },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
      minReplicas: 1,
      maxReplicas: options.most,
      metrics: [{ type: "Resource", resource: { name: "cpu", target: utilization } }],
    },
  };
}

export function priorityClass(name: string, value: number): object {
  return { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value };
}
