// A whole controller in one file: every namespace with the label `notes=wanted` gets a ConfigMap `notes`, again if
// somebody deletes it. Run it with the kubeconfig of any cluster:
//
//   KUBECONFIG=... npx node packages/kube/examples/namespace-notes.ts
import { hostname } from "node:os";
import { type Logger, systemClock } from "@fjord/base";
import {
  Cache,
  ConfigMap,
  Controller,
  done,
  KubeClient,
  LeaderElector,
  loadClusterConfig,
  Manager,
  Namespace,
  untilSignal,
  watches,
} from "../src/index.ts";

const logger: Logger = { debug() {}, info: console.log, warn: console.warn, error: console.error };
const means = { clock: systemClock, random: Math.random, logger };
const client = new KubeClient(await loadClusterConfig({ env: process.env, home: process.env.HOME }));
const namespaces = new Cache({ ...means, kind: Namespace, client, scope: { labelSelector: "notes=wanted" } });
const configMaps = new Cache({ ...means, kind: ConfigMap, client, scope: { fieldSelector: "metadata.name=notes" } });

const controller = new Controller({
  ...means,
  name: "namespace-notes",
  sources: [watches(namespaces), watches(configMaps, ({ metadata }) => [{ name: metadata.namespace ?? "" }])],
  async reconcile({ name }, { log, signal }) {
    const namespace = namespaces.get({ name });
    if (namespace === undefined || namespace.metadata.deletionTimestamp) return done();
    if (configMaps.get({ name: "notes", namespace: name }) !== undefined) return done();
    const notes = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "notes", namespace: name },
      data: { about: `namespace ${name}` },
    } as const;
    await client.apply(ConfigMap, notes, { fieldManager: "namespace-notes", signal });
    log.info("notes written");
    return done();
  },
});

const leaderElection = new LeaderElector({
  ...means,
  client,
  namespace: "default",
  name: "namespace-notes",
  identity: `${hostname()}-${process.pid}`,
});
using stop = untilSignal(process);
await new Manager({ ...means, leaderElection })
  .addCache(namespaces)
  .addCache(configMaps)
  .add(controller)
  .run(stop.signal);
await client.close();
