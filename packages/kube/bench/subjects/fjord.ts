// The subject: this package.
import { silentLogger, systemClock } from "@fjord/base";
import {
  benchConfigMap,
  CREATE_CONCURRENCY,
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
const { Cache, ConfigMap, KubeClient, loadClusterConfig, Namespace, Pod, trimManagedFields } = await import(
  "../../src/index.ts"
);
const imported = performance.now() - importing;
if (work === "import") finish({ milliseconds: imported, residentMegabytes: residentMegabytes(), count: 1 });

const client = new KubeClient(await loadClusterConfig({ kubeconfig, env: {} }));
if (work !== "watch") await client.list(Namespace);

const start = performance.now();
const startCpu = process.cpuUsage();
if (work === "list" || work === "whole list") {
  const { items } = await client.list(Pod, { namespace: LIST_NAMESPACE, omitManagedFields: work === "list" });
  const milliseconds = performance.now() - start;
  const cpu = cpuMilliseconds(startCpu);
  finish({ milliseconds, residentMegabytes: residentMegabytes(), count: items.length, cpuMilliseconds: cpu });
} else if (work === "request") {
  finish({ milliseconds: 0, residentMegabytes: residentMegabytes(), count: 1 });
} else if (work === "informer" || work === "untrimmed informer") {
  const cache = new Cache({
    kind: Pod,
    client,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    ...(work === "informer" && { transform: trimManagedFields }),
  });
  void cache.run(new AbortController().signal);
  await cache.waitForSync();
  const milliseconds = performance.now() - start;
  finish({ milliseconds, residentMegabytes: residentMegabytes(), count: cache.size });
} else if (work === "watch") {
  let count = 0;
  let first = 0;
  for await (const _ of client.watch(Pod, { resourceVersion: "1" })) {
    if (count++ === 0) first = performance.now();
    if (count === WATCHED) break;
  }
  finish({ milliseconds: performance.now() - first, residentMegabytes: residentMegabytes(), count });
} else {
  await inParallel(CREATED, CREATE_CONCURRENCY, (index) => client.create(ConfigMap, benchConfigMap(`${tag}-${index}`)));
  finish({ milliseconds: performance.now() - start, residentMegabytes: residentMegabytes(), count: CREATED });
}
