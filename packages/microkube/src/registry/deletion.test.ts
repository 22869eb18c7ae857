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

async function makePod(name: string, more: object = {}): Promise<void> {
  const spec = { nodeName: "one", containers: [{ name: "main", image: "nginx" }], ...more };
  const made = await api.post(pods, { apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
  assert.equal(made.code, 201, made.text);
}

test("time without end to go is no trouble", async () => {
  for (const seconds of [9_007_199_254_740_991, 1e17, 9_223_372_037, 10_000_000_000]) {
    await makePod("slow", { terminationGracePeriodSeconds: seconds });
    const marked = await api.send("DELETE", `${pods}/slow`);
    assert.equal(marked.code, 200, marked.text);
    assert.equal(marked.body.metadata.deletionGracePeriodSeconds, seconds);
    assert.ok(!Number.isNaN(Date.parse(marked.body.metadata.deletionTimestamp)));
    assert.equal((await api.send("DELETE", `${pods}/slow?gracePeriodSeconds=${seconds}`)).code, 200);
    assert.equal((await api.send("DELETE", `${pods}/slow?gracePeriodSeconds=0`)).code, 200);
    assert.equal((await api.get(`${pods}/slow`)).code, 404);
  }
  await makePod("asked");
  assert.equal((await api.send("DELETE", `${pods}/asked?gracePeriodSeconds=999999999999999999`)).code, 200);
});
