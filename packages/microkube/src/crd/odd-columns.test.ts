import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { TestApi } from "../server/test-api.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const TOYS = "/apis/shop.example.com/v1/namespaces/default/toys";
const AS_TABLE = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "toys.shop.example.com" },
  spec: {
    group: "shop.example.com",
    scope: "Namespaced",
    names: { plural: "toys", singular: "toy", kind: "Toy" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        additionalPrinterColumns: [
          { name: "Odd", type: "string", jsonPath: "@x" },
          { name: "Open", type: "string", jsonPath: ".spec[?(@.a" },
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
        ],
      },
    ],
  },
};

async function shown(api: TestApi): Promise<unknown> {
  while ((await api.get(TOYS)).code !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
  const { body, text, code } = await api.get(TOYS, AS_TABLE);
  assert.equal(code, 200, text);
  return [body.columnDefinitions.map(({ name }) => name), body.rows.map(({ cells }) => cells)];
}

test("a kind with columns whose paths cannot be read is served without what they would show, after a restart too", {
  timeout: 60_000,
}, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "fjord-columns-"));
  const table = [["Name", "Odd", "Open", "Size"], [["bear", null, null, 3]]];
  try {
    {
      await using api = await TestApi.start({ dataDir });
      const made = await api.post(DEFINITIONS, definition);
      assert.equal(made.code, 201, made.text);
      while ((await api.get(TOYS)).code !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
      const toy = { apiVersion: "shop.example.com/v1", kind: "Toy", metadata: { name: "bear" }, spec: { size: 3 } };
      assert.equal((await api.post(TOYS, toy)).code, 201);
      assert.deepEqual(await shown(api), table);
    }
    await using again = await TestApi.start({ dataDir });
    assert.deepEqual(await shown(again), table);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
