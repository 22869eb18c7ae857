// `node tools/generate/kubernetes/main.ts`: asks a real API server (started for it) what its API is, and writes
// packages/microkube/data from the answers. Run by hand, for another release of Kubernetes; the data is committed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { KubeClient } from "@fjord/kube";
import { startTestSite } from "@fjord/testbed/testing";
import { GROUPS } from "./groups.ts";
import type { OpenApiDocument } from "./openapi.ts";
import { type AggregatedDiscovery, resourceTable } from "./resources.ts";
import { schemaLines } from "./schemas.ts";

const data = join(import.meta.dirname, "../../../packages/microkube/data");
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

await using site = await startTestSite({ kubernetes: "1.36" });
const client = new KubeClient(site.config);
const get = async <T>(path: string, accept = "application/json"): Promise<T> => {
  const { body } = await client.raw("GET", path, { headers: { accept } });
  return JSON.parse(body.toString());
};

const core = await get<AggregatedDiscovery>("/api", aggregated);
const others = await get<AggregatedDiscovery>("/apis", aggregated);
write("resources.json", resourceTable(core, others));

const { paths } = await get<{ paths: Record<string, { serverRelativeURL: string }> }>("/openapi/v3");
const documents = new Map<string, OpenApiDocument>();
for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
  const [prefix, group = "", version] = path.split("/");
  const served =
    prefix === "api" ? path === "api/v1" : prefix === "apis" && version !== undefined && GROUPS.includes(group);
  if (served) documents.set(path, await get<OpenApiDocument>(serverRelativeURL));
}
write("schemas.gz", gzipSync(schemaLines([...documents.values()]), { level: 9 }));
await client.close();

function write(name: string, content: string | Buffer): void {
  writeFileSync(join(data, name), content);
  console.log(`wrote packages/microkube/data/${name}: ${content.length} bytes`);
}
