// `node tools/generate/kubernetes/bootstrap-objects.ts`: takes the roles, bindings, priority classes and rules of flow
// control that every cluster begins with from a real API server (started for it), and writes packages/microkube/data. Run
// by hand, for another release of Kubernetes; the data is committed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Kind, KubeObject } from "@fjord/base";
import { ClusterRole, ClusterRoleBinding, KubeClient, PriorityClass, Role, RoleBinding } from "@fjord/kube";
import { startTestSite } from "@fjord/testbed/testing";

const flowControl = { group: "flowcontrol.apiserver.k8s.io", version: "v1", namespaced: false } as const;
const PriorityLevel: Kind<KubeObject> = {
  ...flowControl,
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
};
const FlowSchema: Kind<KubeObject> = { ...flowControl, kind: "FlowSchema", plural: "flowschemas" };
const kinds = [ClusterRole, ClusterRoleBinding, Role, RoleBinding, PriorityClass, PriorityLevel, FlowSchema];
const file = join(import.meta.dirname, "../../../packages/microkube/data/bootstrap-objects.gz");

await using site = await startTestSite({ kubernetes: "1.36" });
const client = new KubeClient(site.config);
const lines: string[] = [];
for (const kind of kinds) {
  const { items } = await client.list<KubeObject>(kind);
  const own = items.map((object) => JSON.stringify(bare(object)));
  lines.push(...own.sort());
}
await client.close();
writeFileSync(file, gzipSync(`[${lines.join(",")}]`, { level: 9 }));
console.log(`wrote packages/microkube/data/bootstrap-objects.gz: ${lines.length} objects`);

/** Without what a server gives each object anew. Rules that are gathered from other roles are gathered there too. */
function bare({ apiVersion, kind, metadata, ...rest }: KubeObject): unknown {
  const { name, namespace, labels, annotations } = metadata;
  const { rules, status, ...others } = rest as { rules?: unknown; status?: unknown; aggregationRule?: unknown };
  const own = others.aggregationRule === undefined && rules !== undefined ? { rules } : {};
  return { apiVersion, kind, metadata: { name, namespace, labels, annotations }, ...others, ...own };
}
