import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { TestApi } from "../server/test-api.ts";

let api: TestApi;
const pods = "/api/v1/namespaces/default/pods";
before(async () => {
  api = await TestApi.start();
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await api.post("/api/v1/namespaces/default/serviceaccounts", account);
});
after(() => api[Symbol.asyncDispose]());

async function makePod(name: string): Promise<string> {
  const spec = { nodeName: "one", containers: [{ name: "main", image: "nginx" }] };
  const made = await api.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
  assert.equal(made.code, 201, made.text);
  return made.body.metadata.uid;
}

const evict = (name: string, deleteOptions: object) =>
  api.post(`${pods}/${name}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    deleteOptions,
  });

test("an eviction gives the pod the time that it says", async () => {
  await makePod("slow");
  assert.equal((await evict("slow", { gracePeriodSeconds: 7 })).code, 201);
  assert.equal((await api.get(`${pods}/slow`)).body.metadata.deletionGracePeriodSeconds, 7);
  await makePod("quick");
  assert.equal((await evict("quick", { gracePeriodSeconds: 0 })).code, 201);
  assert.equal((await api.get(`${pods}/quick`)).code, 404);
});

test("an eviction of another pod of the same name is refused", async () => {
  const uid = await makePod("other");
  const refused = await evict("other", { preconditions: { uid: "not-this-one" } });
  assert.deepEqual([refused.code, refused.body.reason], [409, "Conflict"]);
  assert.equal((await api.get(`${pods}/other`)).body.metadata.deletionTimestamp, undefined);
  assert.equal((await evict("other", { preconditions: { uid }, gracePeriodSeconds: 0 })).code, 201);
  assert.equal((await api.get(`${pods}/other`)).code, 404);
});
