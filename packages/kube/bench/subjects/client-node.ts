// The baseline: the official JavaScript client, used as its documentation shows.
import {
  benchConfigMap,
  CACHED,
  CREATE_CONCURRENCY,
  CREATE_NAMESPACE,
  CREATED,
  cpuMilliseconds,
  finish,
  inParallel,
  LIST_NAMESPACE,
  residentMegabytes,
  WATCHED,
  type Work,
} from "../workload.ts";

const [work, kubeconfig = "", tag = ""] = process.argv.slice(2) as [Work, string?, string?];

const importing = performance.now();
const { CoreV1Api, KubeConfig, makeInformer, Watch } = await import("@kubernetes/client-node");
const imported = performance.now() - importing;
if (work === "import") finish({ milliseconds: imported, residentMegabytes: residentMegabytes(), count: 1 });

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(CoreV1Api);
await api.listNamespace();

const start = performance.now();
const startCpu = process.cpuUsage();
if (work === "list" || work === "whole list") {
  const { items } = await api.listNamespacedPod({ namespace: LIST_NAMESPACE });
  const milliseconds = performance.now() - start;
  const cpu = cpuMilliseconds(startCpu);
  finish({ milliseconds, residentMegabytes: residentMegabytes(), count: items.length, cpuMilliseconds: cpu });
} else if (work === "request") {
  finish({ milliseconds: 0, residentMegabytes: residentMegabytes(), count: 1 });
} else if (work === "informer" || work === "untrimmed informer") {
  const informer = makeInformer(config, "/api/v1/pods", () => api.listPodForAllNamespaces());
  await informer.start();
  while (informer.list().length < CACHED) await new Promise((resolve) => setTimeout(resolve, 20));
  const milliseconds = performance.now() - start;
  finish({ milliseconds, residentMegabytes: residentMegabytes(), count: informer.list().length });
} else if (work === "watch") {
  let count = 0;
  let first = 0;
  const counted = () => {
    if (count++ === 0) first = performance.now();
    if (count < WATCHED) return;
    finish({ milliseconds: performance.now() - first, residentMegabytes: residentMegabytes(), count });
  };
  await new Watch(config).watch("/api/v1/pods", { resourceVersion: "1" }, counted, () => {});
} else {
  await inParallel(CREATED, CREATE_CONCURRENCY, (index) =>
    api.createNamespacedConfigMap({ namespace: CREATE_NAMESPACE, body: benchConfigMap(`${tag}-${index}`) }),
  );
  finish({ milliseconds: performance.now() - start, residentMegabytes: residentMegabytes(), count: CREATED });
}
