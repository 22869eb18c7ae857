import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import type { CustomKind } from "./custom-kind.ts";
import { type OpenApiAnswer, OpenApiDocuments } from "./documents.ts";

const foo: CustomKind = {
  group: "stable.example.com",
  version: "v1",
  kind: "Foo",
  listKind: "FooList",
  plural: "foos",
  namespaced: true,
  preserveUnknownFields: false,
  hasStatus: true,
  hasScale: false,
  schema: {
    description: "A foo.",
    type: "object",
    properties: {
      spec: {
        type: "object",
        required: ["a", "n"],
        properties: {
          a: { type: "string", default: "x" },
          n: { type: "string", nullable: true },
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { q: { type: "string" } } },
          ios: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
          emb: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    },
  },
};

interface Document {
  paths: Record<string, Record<string, { operationId: string; tags: string[]; parameters: { name: string }[] }>>;
  definitions: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Record<string, unknown>> };
}

const read = (answer: OpenApiAnswer | undefined): Document =>
  JSON.parse(gunzipSync((answer as OpenApiAnswer).gzip).toString());

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], value);

test("the index names every group, and each has its document", () => {
  const documents = new OpenApiDocuments();
  const { paths } = documents.v3Index();
  assert.ok("api/v1" in paths && "apis/apps/v1" in paths && !("apis/resource.k8s.io/v1" in paths));
  for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
    const answer = documents.v3(path);
    assert.equal(serverRelativeURL, `/openapi/v3/${path}?hash=${answer?.etag.slice(1, -1)}`);
  }
  assert.equal(documents.v3("apis/none/v1"), undefined);
  assert.equal(documents.v3("constructor"), undefined);
  const core = read(documents.v3("api/v1"));
  assert.ok(core.components.schemas["io.k8s.api.core.v1.Pod"]);
});

test("the whole document has what is served, and nothing refers to what is not there", async () => {
  const text = gunzipSync((await new OpenApiDocuments().v2()).gzip).toString();
  const { paths, definitions } = JSON.parse(text) as Document;
  assert.ok(paths["/api/v1/namespaces/{namespace}/pods/{name}"]);
  assert.ok(!Object.keys(paths).some((path) => path.includes("resource.k8s.io")));
  for (const [, name = ""] of text.matchAll(/"#\/definitions\/([^"]+)"/g)) assert.ok(name in definitions, name);
});

test("custom kinds have a document of their own", () => {
  const custom = [foo, { ...foo, kind: "Bar", listKind: "BarList", plural: "bars", namespaced: false }];
  const documents = new OpenApiDocuments(() => custom);
  assert.ok("apis/stable.example.com/v1" in documents.v3Index().paths);
  const { paths, components } = read(documents.v3("apis/stable.example.com/v1"));
  const patch = paths["/apis/stable.example.com/v1/namespaces/{namespace}/foos/{name}"]?.patch;
  assert.equal(patch?.operationId, "patchStableExampleComV1NamespacedFoo");
  assert.deepEqual(patch?.tags, ["stableExampleCom_v1"]);
  assert.ok(patch?.parameters.some(({ name }) => name === "fieldValidation"));
  assert.ok(paths["/apis/stable.example.com/v1/bars/{name}/status"]);
  assert.ok(!paths["/apis/stable.example.com/v1/bars/{name}/scale"]);
  const definition = components.schemas["com.example.stable.v1.Foo"];
  assert.deepEqual(Object.keys(at(definition, "properties") as object).sort(), [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
  ]);
  const embedded = at(definition, "properties.spec.properties.emb.properties");
  assert.deepEqual(Object.keys(embedded as object), ["apiVersion", "kind", "metadata"]);
  const text = JSON.stringify(components);
  for (const [, name = ""] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    assert.ok(name in components.schemas, name);
  assert.doesNotMatch(JSON.stringify({ paths, components }), /zz(group|domain|kind)|v9/i);
});

test("the whole document tells of them what it can", async () => {
  const custom = [foo];
  const documents = new OpenApiDocuments(() => custom);
  const answer = await documents.v2();
  assert.equal(await documents.v2(), answer);
  const { definitions, paths } = read(answer);
  assert.ok(paths["/apis/stable.example.com/v1/namespaces/{namespace}/foos"]);
  const spec = at(definitions["com.example.stable.v1.Foo"], "properties.spec");
  assert.deepEqual(spec, {
    type: "object",
    required: ["a"],
    properties: {
      a: { type: "string", default: "x" },
      n: {},
      any: { "x-kubernetes-preserve-unknown-fields": true },
      ios: { "x-kubernetes-int-or-string": true },
      emb: {
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
        properties: at(spec, "properties.emb.properties"),
        required: ["kind", "apiVersion"],
      },
    },
  });
  assert.ok(definitions["com.example.stable.v1.FooList"]);
});
