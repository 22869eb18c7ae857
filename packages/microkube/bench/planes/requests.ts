/** Everything that is read and written by load is in these two: the second only ever has what watchers are told of. */
export const NAMESPACE = "bench";
export const WATCHED_NAMESPACE = "bench-watched";

/** What a load process is asked to do: its share of the whole. */
export type Job =
  | { readonly kind: "create"; readonly namespace: string; readonly first: number; readonly count: number }
  | { readonly kind: "get"; readonly count: number; readonly pods: number }
  | { readonly kind: "list"; readonly count: number }
  | { readonly kind: "watch"; readonly watchers: number; readonly writes: number };

export type LoadMessage =
  | { readonly do: "prepare"; readonly job: Job; readonly connections: number }
  | { readonly do: "go" }
  | { readonly do: "end" };

export type LoadAnswer =
  | { readonly is: "prepared" }
  | { readonly is: "done"; readonly bytes: number; readonly cpuSeconds: number }
  | { readonly is: "failed"; readonly reason: string };

export interface LoadTarget {
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}

/** The bytes of the request number `index` of a job: made ahead of time and written as they are. */
export function requestBytes(job: Exclude<Job, { kind: "watch" }>, index: number): Buffer {
  if (job.kind === "list") return plainGet(podsPath(NAMESPACE));
  // A step that shares no factor with the number of pods visits them all, in no order that a cache would like.
  if (job.kind === "get") return plainGet(`${podsPath(NAMESPACE)}/${podName((index * 7_919) % job.pods)}`);
  const body = JSON.stringify(pod(job.namespace, job.first + index));
  const head = [
    `POST ${podsPath(job.namespace)} HTTP/1.1`,
    "Host: kubernetes",
    "Accept: application/json",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

export function watchBytes(): Buffer {
  return plainGet(`${podsPath(WATCHED_NAMESPACE)}?watch=true&resourceVersion=0&timeoutSeconds=1800`);
}

function plainGet(path: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: kubernetes\r\nAccept: application/json\r\n\r\n`);
}

function podName(index: number): string {
  return `web-7c9f8d6b5-${index.toString(36).padStart(5, "0")}`;
}

/** A pod of a Deployment, as large as such pods are. No scheduler minds it: what is measured is the API. */
function pod(namespace: string, index: number): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: podName(index),
      namespace,
      labels: { app: "web", tier: "frontend", "pod-template-hash": "7c9f8d6b5" },
      annotations: { "example.com/build": `build-${index % 100}`, "prometheus.io/scrape": "true" },
    },
    spec: {
      schedulerName: "nobody",
      containers: [
        {
          name: "web",
          image: "registry.example.com/shop/web:1.27.3",
          args: ["--listen=:8080", "--log-format=json"],
          ports: [{ name: "http", containerPort: 8080 }],
          env: [
            { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "REGION", value: "eu-north-1" },
          ],
          resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
        },
      ],
    },
  };
}
