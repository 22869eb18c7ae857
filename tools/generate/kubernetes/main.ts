// `node tools/generate/kubernetes/main.ts [KUBECONFIG]`: asks a real API server (one that is there, or one started for it)
// what its API is, and writes packages/microkube/data from the answers. It makes two CustomResourceDefinitions there.
// Run by hand, for another release of Kubernetes; the data is committed.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { KubeClient, loadClusterConfig } from "@fjord/kube";
import { startTestSite } from "@fjord/testbed/testing";
import { swaggerProtobuf } from "../../../packages/microkube/src/schema/openapi/swagger-protobuf.ts";
import { customSample } from "./custom-sample.ts";
import { GoTypes } from "./go-types.ts";
import type { OpenApiDocument } from "./openapi.ts";
import { hashOf, isServedPath, servedSwagger } from "./openapi-files.ts";
import { type AggregatedDiscovery, resourceTable } from "./resources.ts";
import { schemaLines } from "./schemas.ts";
import { typeLines } from "./type-lines.ts";

/** Kinds that are in no schema, but may be sent. */
const OPTIONS = [
  "meta.v1.DeleteOptions",
  "meta.v1.CreateOptions",
  "meta.v1.PatchOptions",
  "meta.v1.UpdateOptions",
  "runtime.Unknown",
];
const data = join(import.meta.dirname, "../../../packages/microkube/data");
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const [kubeconfig] = process.argv.slice(2);
await using site = kubeconfig === undefined ? await startTestSite({ kubernetes: "1.36" }) : undefined;
const client = new KubeClient(
  site?.config ?? (await loadClusterConfig({ env: process.env, ...(kubeconfig !== undefined && { kubeconfig }) })),
);
const get = async <T>(path: string, accept = "application/json"): Promise<T> => {
  const { body } = await client.raw("GET", path, { headers: { accept } });
  return JSON.parse(body.toString());
};

const core = await get<AggregatedDiscovery>("/api", aggregated);
const others = await get<AggregatedDiscovery>("/apis", aggregated);
write("resources.json", resourceTable(core, others));

const { paths } = await get<{ paths: Record<string, { serverRelativeURL: string }> }>("/openapi/v3");
const documents = new Map<string, OpenApiDocument>();
const index: Record<string, string> = {};
mkdirSync(join(data, "openapi"), { recursive: true });
for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
  if (!isServedPath(`/${path}`)) continue;
  const document = await get<OpenApiDocument>(serverRelativeURL);
  if (/^api\/|^apis\/.*\//.test(path)) documents.set(path, document);
  const text = JSON.stringify(document);
  index[path] = hashOf(text);
  write(`openapi/${path.replaceAll("/", "__")}.json.gz`, gzipSync(text, { level: 9 }));
}
write("openapi/index.json", `${JSON.stringify(index, undefined, 1)}\n`);
const swagger = servedSwagger(await get<Parameters<typeof servedSwagger>[0]>("/openapi/v2"));
write("openapi/v2.json.gz", gzipSync(JSON.stringify(swagger), { level: 9 }));
write("openapi/v2.pb.gz", gzipSync(swaggerProtobuf(swagger), { level: 9 }));

const modules = execFileSync("go", ["env", "GOMODCACHE"], { encoding: "utf8" }).trim();
const { gitVersion } = await get<{ gitVersion: string }>("/version");
const types = new GoTypes(modules, gitVersion.replace(/^v1/, "v0"));
const schemas = schemaLines([...documents.values()], types);
write("schemas.gz", gzipSync(schemas, { level: 9 }));
const names = schemas
  .split("\n")
  .slice(1)
  .map((line) => line.slice(0, line.indexOf("\t")));
write("types.gz", gzipSync(typeLines([...names, ...OPTIONS], types), { level: 9 }));
write("openapi/custom.json.gz", gzipSync(await customSample(client, get), { level: 9 }));
await client.close();

function write(name: string, content: string | Buffer): void {
  writeFileSync(join(data, name), content);
  console.log(`wrote packages/microkube/data/${name}: ${content.length} bytes`);
}
