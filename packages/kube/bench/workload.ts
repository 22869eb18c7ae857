// What both clients are put through. The kinds of work and the objects are the same for each.
import { writeSync } from "node:fs";

/** The work that a subject is asked for, as its first argument. */
export type Work =
  | "import"
  | "request"
  | "list"
  | "whole list"
  | "informer"
  | "untrimmed informer"
  | "watch"
  | "create";

/** What a subject prints. */
export interface Outcome {
  /** Time of the work alone, the import excluded (but for `import`). */
  milliseconds: number;
  /** Resident memory afterwards, garbage collected. */
  residentMegabytes: number;
  /** Objects or events handled. */
  count: number;
  /** Processor time of the client for the work. */
  cpuMilliseconds?: number;
}

export const LIST_NAMESPACE = "bench-list";
export const FILL_NAMESPACE = "bench-fill";
export const CREATE_NAMESPACE = "bench-create";
export const LISTED = 5_000;
export const CACHED = 20_000;
export const WATCHED = 20_000;
export const CREATED = 1_000;
export const CREATE_CONCURRENCY = 20;

/** A pod of a Deployment with a sidecar, as large as such pods are. */
export function benchPod(namespace: string, index: number) {
  const probe = (path: string) => ({ httpGet: { path, port: 8080 }, periodSeconds: 10, failureThreshold: 3 });
  const container = (name: string) => ({
    name,
    image: `registry.example.com/shop/${name}:1.27.${index % 10}`,
    args: ["--listen=:8080", "--log-format=json", `--shard=${index % 64}`],
    ports: [{ name: "http", containerPort: 8080 }],
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "REGION", value: "eu-north-1" },
      { name: "FEATURES", value: "checkout,search,recommendations" },
    ],
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    readinessProbe: probe("/ready"),
    livenessProbe: probe("/live"),
  });
  return {
    apiVersion: "v1" as const,
    kind: "Pod" as const,
    metadata: {
      name: `web-7c9f8d6b5-${index.toString(36).padStart(5, "0")}`,
      namespace,
      labels: { app: "web", tier: "frontend", "pod-template-hash": "7c9f8d6b5", shard: String(index % 64) },
      annotations: { "example.com/build": `build-${index % 100}`, "prometheus.io/scrape": "true" },
    },
    spec: {
      containers: [container("web"), container("proxy")],
      nodeName: `node-${index % 100}`,
      terminationGracePeriodSeconds: 30,
    },
  };
}

export function benchConfigMap(name: string) {
  return {
    apiVersion: "v1" as const,
    kind: "ConfigMap" as const,
    metadata: { name, namespace: CREATE_NAMESPACE, labels: { bench: "create" } },
    data: { "settings.yaml": "replicas: 3\nlevel: info\nendpoints: [a, b, c]\n" },
  };
}

export function residentMegabytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  return process.memoryUsage().rss / 1e6;
}

/** Processor time since `start`. */
export function cpuMilliseconds(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** Prints the outcome as the last line and ends the process, whatever is still open. */
export function finish(outcome: Outcome): never {
  writeSync(1, `${JSON.stringify(outcome)}\n`);
  process.exit(0);
}

/** Runs `job` for 0..total-1 with a fixed number under way. */
export async function inParallel(total: number, concurrency: number, job: (index: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < total) await job(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
