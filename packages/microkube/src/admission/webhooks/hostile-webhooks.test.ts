import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { TestApi } from "../../server/test-api.ts";

let api: TestApi;
let server: Server;
/** What the webhook answers; undefined: nothing, ever. */
let response: ((uid: string) => unknown) | undefined;
const maps = "/api/v1/namespaces/default/configmaps";
const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

before(async () => {
  api = await TestApi.start();
  server = createServer(api.microkube.credentials.server, async (request, answer) => {
    const { request: asked, apiVersion } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    if (response === undefined) return;
    const said = response(asked.uid);
    answer.end(
      typeof said === "string" ? said : JSON.stringify({ apiVersion, kind: "AdmissionReview", response: said }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
after(async () => {
  await api[Symbol.asyncDispose]();
  server.close();
  server.closeAllConnections();
});
beforeEach(() => api.send("DELETE", `${configurations}/hook`));

async function configure(failurePolicy: "Fail" | "Ignore" = "Fail"): Promise<void> {
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const caBundle = Buffer.from(api.microkube.credentials.clusterCa.certificate).toString("base64");
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }];
  const { code, text } = await api.post(configurations, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "hook" },
    webhooks: [
      {
        ...{ name: "hook.example.com", clientConfig: { url, caBundle }, rules, failurePolicy, timeoutSeconds: 1 },
        ...{ admissionReviewVersions: ["v1"], sideEffects: "None" },
      },
    ],
  });
  assert.equal(code, 201, text);
}

const send = (name: string) => api.post(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: {} });
const patch = (uid: string, operations: unknown) => ({
  ...{ uid, allowed: true, patchType: "JSONPatch" },
  patch: Buffer.from(typeof operations === "string" ? operations : JSON.stringify(operations)).toString("base64"),
});

test("one that never answers is waited for as long as it may take, and its policy decides", async () => {
  response = undefined;
  await configure("Fail");
  const refused = await send("hangs");
  assert.equal(refused.code, 500);
  assert.match(refused.body.message, /failed calling webhook "hook.example.com".*context deadline exceeded/);
  await api.send("DELETE", `${configurations}/hook`);
  await configure("Ignore");
  assert.equal((await send("hangs")).code, 201);
});

test("whatever a refusal says, the answer is a Status", async () => {
  await configure();
  for (const code of [99_999, -1, "x", 1.5, null, 200, { a: 1 }]) {
    const details = { retryAfterSeconds: "1\r\nx: y", causes: [null, 1, { field: {} }], name: ["a"] };
    response = (uid) => ({ uid, allowed: false, status: { code, message: { a: 1 }, reason: 7, details } });
    const answer = await send("refused");
    assert.equal(answer.code, 400, answer.text);
    assert.equal(answer.body.kind, "Status");
  }
  response = (uid) => ({ uid, allowed: false, status: "no" });
  assert.equal((await send("refused")).code, 400);
  response = (uid) => ({ uid, allowed: false, status: { code: 418, message: "tea" } });
  assert.equal((await send("refused")).code, 418);
});

test("a patch that is none, or too long, is a failure of the webhook", async () => {
  await configure();
  const many = Array.from({ length: 20_000 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }));
  for (const operations of ["{", "{}", "null", '"x"', "[1]", '[{"op":"rm -rf"}]', many]) {
    response = (uid) => patch(uid, operations);
    const { code, body } = await send("patched");
    assert.equal(code, 500);
    assert.equal(body.kind, "Status");
  }
  for (const said of ["", "<html>", "[]", "null", '{"kind":"AdmissionReview"}']) {
    response = () => said;
    assert.equal((await send("patched")).code, 500);
  }
});

test("no patch moves an object elsewhere, or makes another of it", async () => {
  assert.equal((await send("stays")).code, 201);
  await configure();
  response = (uid) => patch(uid, [{ op: "replace", path: "/metadata/namespace", value: "kube-system" }]);
  assert.equal((await send("moved")).code, 400);
  assert.equal((await api.patch(`${maps}/stays`, { data: { a: "1" } })).code, 400);
  response = (uid) => patch(uid, [{ op: "replace", path: "/metadata/name", value: "other" }]);
  assert.equal((await api.patch(`${maps}/stays`, { data: { a: "1" } })).code, 400);
  response = (uid) => patch(uid, [{ op: "replace", path: "/kind", value: "Secret" }]);
  assert.equal((await send("other")).code, 500);
  response = (uid) => ({ uid, allowed: true });
  const { body } = await api.get(`${maps}/stays`);
  assert.deepEqual([body.metadata.name, body.metadata.namespace], ["stays", "default"]);
});

test("an answer without an end is cut off", async () => {
  await configure();
  response = () => "x".repeat(20 * 1024 * 1024);
  const { code, body } = await send("large");
  assert.equal(code, 500);
  assert.match(body.message, /failed calling webhook/);
});
