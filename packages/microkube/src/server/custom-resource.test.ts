import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { TestApi } from "./test-api.ts";

let api: TestApi;
const toys = "/apis/shop.example.com/v1/namespaces/default/toys";
before(async () => {
  api = await TestApi.start();
  const schema = {
    type: "object",
    properties: {
      spec: { type: "object", properties: { size: { type: "integer" } } },
      status: { type: "object", properties: { phase: { type: "string" } } },
    },
  };
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  const made = await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "toys.shop.example.com" },
    spec: {
      group: "shop.example.com",
      scope: "Namespaced",
      names: { plural: "toys", singular: "toy", kind: "Toy" },
      versions: [{ ...version, subresources: { status: {} } }],
    },
  });
  assert.equal(made.code, 201, made.text);
  while ((await api.get(toys)).code !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
});
after(() => api[Symbol.asyncDispose]());

const toy = (name: string, more: object = {}) => ({
  apiVersion: "shop.example.com/v1",
  kind: "Toy",
  metadata: { name },
  spec: { size: 1 },
  ...more,
});

test("a patch with fields that there are not is refused where they are looked at strictly, and told of else", async () => {
  await api.post(toys, toy("bear"));
  const { code, body } = await api.patch(`${toys}/bear?fieldValidation=Strict`, { spec: { colour: "red", size: 2 } });
  assert.deepEqual([code, body.reason], [422, "Invalid"]);
  assert.match(body.message, /^ "" is invalid: patch: Invalid value: "\{\\"apiVersion\\":\\"shop.example.com\/v1\\",/);
  assert.match(body.message, /: strict decoding error: unknown field "spec.colour"$/);
  const warned = await api.patch(`${toys}/bear`, { spec: { colour: "red", size: 3 } });
  assert.equal(warned.code, 200);
  assert.match(String(warned.headers.warning), /unknown field \\"spec.colour\\"/);
  assert.deepEqual((warned.body as unknown as { spec: unknown }).spec, { size: 3 });
});

test("who writes the status comes to own nothing of the metadata", async () => {
  await api.post(toys, toy("duck"));
  const applied = await api.patch(
    `${toys}/duck/status?fieldManager=me`,
    toy("duck", { metadata: { name: "duck", labels: { a: "b" } }, status: { phase: "New" } }),
    "apply-patch+yaml",
  );
  assert.equal(applied.code, 200, applied.text);
  const managers = applied.body.metadata.managedFields as { manager: string; fieldsV1: unknown }[];
  const mine = managers.find(({ manager }) => manager === "me");
  assert.deepEqual(mine?.fieldsV1, { "f:status": { "f:phase": {} } });
});

test("discovery tells by a hash what version objects are kept in", async () => {
  const hash = (text: string) => createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
  type Listed = { name: string; storageVersionHash?: string };
  const of = async (path: string, name: string) => {
    const { resources } = (await api.get(path)).body as unknown as { resources: Listed[] };
    return resources.find((one) => one.name === name)?.storageVersionHash;
  };
  assert.equal(await of("/apis/shop.example.com/v1", "toys"), hash("shop.example.com/v1/Toy"));
  assert.equal(await of("/apis/shop.example.com/v1", "toys/status"), undefined);
  assert.equal(await of("/api/v1", "pods"), "xPOwRZ+Yhw8=");
  assert.equal(await of("/apis/apps/v1", "deployments"), "8aSe+NMegvE=");
  assert.equal(await of("/api/v1", "bindings"), undefined);
  assert.equal(await of("/apis/authentication.k8s.io/v1", "tokenreviews"), undefined);
});

test("a definition without its spec is refused, and stays what it was", async () => {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.shop.example.com";
  for (const patch of [{ spec: null }, { spec: { names: null } }, { spec: { versions: null } }]) {
    const refused = await api.patch(path, patch);
    assert.equal(refused.code, 422, refused.text);
  }
  assert.equal((await api.get(toys)).code, 200);
});
