import { describeError, type KubeObject } from "@fjord/base";
import type { Cluster } from "../cluster.ts";
import { find, findAll, typeOf } from "../cluster-objects.ts";
import type { ResourceType } from "../kinds/resource-type.ts";
import { type ApiService, AUTOMANAGED, GROUP, nameOf } from "./api-service.ts";

/** Kubernetes' own order of groups, and of versions in them where one is not the first. */
const groupPriorities: Readonly<Record<string, number>> = {
  "": 18000,
  apps: 17800,
  "events.k8s.io": 17750,
  "authentication.k8s.io": 17700,
  "authorization.k8s.io": 17600,
  autoscaling: 17500,
  batch: 17400,
  "certificates.k8s.io": 17300,
  "networking.k8s.io": 17200,
  policy: 17100,
  "rbac.authorization.k8s.io": 17000,
  "storage.k8s.io": 16800,
  "apiextensions.k8s.io": 16700,
  "admissionregistration.k8s.io": 16700,
  "scheduling.k8s.io": 16600,
  "coordination.k8s.io": 16500,
  "node.k8s.io": 16300,
  "discovery.k8s.io": 16200,
  "flowcontrol.apiserver.k8s.io": 16100,
};
const versionPriorities: Readonly<Record<string, number>> = {
  "v1.": 1,
  "v2.autoscaling": 30,
  "v1.flowcontrol.apiserver.k8s.io": 21,
};
const CUSTOM = { groupPriorityMinimum: 1000, versionPriority: 100 };

/** The APIServices for what this server serves itself. */
export function localServices(
  types: readonly { group: string; versions: readonly string[]; isCustom: boolean }[],
): ApiService[] {
  const made = new Map<string, ApiService>();
  for (const { group, versions, isCustom } of types) {
    if (group === GROUP) continue;
    for (const version of versions) {
      const name = nameOf(group, version);
      if (made.has(name)) continue;
      const groupPriorityMinimum = groupPriorities[group] ?? 9000;
      const builtIn = { groupPriorityMinimum, versionPriority: versionPriorities[name] ?? 15 };
      made.set(name, {
        apiVersion: `${GROUP}/v1`,
        kind: "APIService",
        metadata: { name, labels: { [AUTOMANAGED]: isCustom ? "true" : "onstart" } },
        spec: { ...(group !== "" && { group }), version, ...(isCustom ? CUSTOM : builtIn) },
      });
    }
  }
  return [...made.values()];
}

/** Keeps an APIService for each version of each group that is served; returns what ends it. */
export function keepLocalServices(cluster: Cluster, isCustom: (type: ResourceType) => boolean): () => void {
  const type = typeOf(cluster, GROUP, "APIService");
  const keep = async () => {
    const types = cluster.types.list();
    const wanted = localServices(types.map((one) => ({ ...one, isCustom: isCustom(one) })));
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    const missing = wanted.filter(
      ({ metadata }) => find(cluster, "APIService", "", metadata.name ?? "", GROUP) === undefined,
    );
    // What somebody else has put in the place of ours stays.
    const past = findAll<ApiService>(cluster, "APIService", undefined, GROUP).filter(
      ({ metadata, spec }) =>
        metadata.labels?.[AUTOMANAGED] !== undefined && spec.service === undefined && !names.has(metadata.name),
    );
    await Promise.all([
      ...missing.map((one) => cluster.create(type, "", one as KubeObject)),
      ...past.map(({ metadata }) => cluster.delete(type, "", metadata.name ?? "")),
    ]);
  };
  let work = Promise.resolve();
  let isDue = false;
  const changed = () => {
    if (isDue) return;
    isDue = true;
    work = work
      .then(() => {
        isDue = false;
        return keep();
      })
      .catch((error: unknown) => {
        cluster.logger.warn("APIServices are not all there", { error: describeError(error) });
      });
  };
  changed();
  return cluster.types.onChange(changed);
}
