import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "@fjord/kube";
import type { OpenApiDocument } from "./openapi.ts";

// What a real server publishes for custom resources, taken down once with names that are replaced later. Names that
// occur nowhere else, so that replacing them is safe.
const GROUP = "zzgroup.zzdomain";
const VERSION = "v9";
const PATH = `apis/${GROUP}/${VERSION}`;

/** Paths of the two samples in both forms, and the definitions that they refer to. */
export async function customSample(client: KubeClient, get: <T>(path: string) => Promise<T>): Promise<string> {
  await create(client, "zzkind", "Namespaced");
  await create(client, "zzcluster", "Cluster");
  for (;;) {
    await sleep(500);
    const index = await get<{ paths: Record<string, { serverRelativeURL: string }> }>("/openapi/v3");
    const url = index.paths[PATH]?.serverRelativeURL;
    const v3 = url === undefined ? undefined : await get<OpenApiDocument>(url);
    const v2 = await get<{ paths: Record<string, unknown> }>("/openapi/v2");
    if (v3 !== undefined && [v3, v2].every((one) => hasBoth(one.paths))) return JSON.stringify(extract(v3, v2));
  }
}

const hasBoth = (paths: Record<string, unknown>): boolean =>
  ["zzkinds", "zzclusters"].every((plural) =>
    Object.keys(paths).some((path) => path.endsWith(`/${plural}/{name}/scale`)),
  );

function extract(v3: OpenApiDocument, v2: { paths: Record<string, unknown> }): unknown {
  const { schemas = {} } = v3.components;
  const own = Object.keys(schemas).filter((name) => name.startsWith("zzdomain."));
  return {
    info: v3.info,
    schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => !own.includes(name))),
    list: schemas[`zzdomain.zzgroup.${VERSION}.ZzkindList`],
    kind: schemas[`zzdomain.zzgroup.${VERSION}.Zzkind`],
    v3: { namespaced: only(v3.paths, "zzkinds"), cluster: only(v3.paths, "zzclusters") },
    v2: { namespaced: only(v2.paths, "zzkinds"), cluster: only(v2.paths, "zzclusters") },
  };
}

/** One name for both, so that there is one thing to replace. */
function only(paths: Record<string, unknown>, plural: string): unknown {
  const found = Object.entries(paths).filter(([path]) => path.includes(`/${GROUP}/`) && path.includes(`/${plural}`));
  return JSON.parse(
    JSON.stringify(Object.fromEntries(found)).replaceAll("zzcluster", "zzkind").replaceAll("Zzcluster", "Zzkind"),
  );
}

async function create(client: KubeClient, singular: string, scope: string): Promise<void> {
  const kind = singular.replace(/^z/, "Z");
  const replicas = { type: "object", properties: { replicas: { type: "integer" } } };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: replicas, status: replicas } } };
  const scale = { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" };
  const version = { name: VERSION, served: true, storage: true, schema, subresources: { status: {}, scale } };
  const names = { plural: `${singular}s`, singular, kind, listKind: `${kind}List` };
  const name = `${singular}s.${GROUP}`;
  await client.raw("PATCH", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`, {
    query: { fieldManager: "generate" },
    headers: { "content-type": "application/apply-patch+yaml" },
    body: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name },
      spec: { group: GROUP, scope, names, versions: [version] },
    },
  });
}
