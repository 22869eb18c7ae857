import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import { seededRandom } from "@fjord/base";
import { TestApi } from "./test-api.ts";

const REQUESTS = Number(process.env.FJORD_BAD_REQUESTS ?? 600);
const SEED = Number(process.env.FJORD_SEED ?? 1);

let api: TestApi;
before(async () => {
  api = await TestApi.start();
  await api.post("/api/v1/namespaces/default/configmaps", { metadata: { name: "a" }, data: { x: "1" } });
  await api.post("/api/v1/namespaces/default/pods", pod);
});
after(() => api[Symbol.asyncDispose]());

const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY"];
const paths = [
  "/api/v1/namespaces/default/configmaps",
  "/api/v1/namespaces/default/configmaps/a",
  "/api/v1/namespaces/default/pods/p",
  "/api/v1/namespaces/default/pods/p/status",
  "/api/v1/namespaces/default/pods/p/log",
  "/api/v1/namespaces/default/pods/p/exec",
  "/api/v1/namespaces/default/pods/p:80/proxy/x",
  "/apis/apps/v1/namespaces/default/deployments/d/scale",
  "/apis/apps/v1/deployments",
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
  "/apis/events.k8s.io/v1/namespaces/default/events",
  "/api/v1/nodes/n/proxy/",
  "/openapi/v3/apis/apps/v1",
  "/healthz",
];
const parameters = ["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector"];
const moreParameters = [
  "timeoutSeconds",
  "fieldManager",
  "force",
  "dryRun",
  "fieldValidation",
  "pretty",
  "includeObject",
];
const values = [
  "",
  "0",
  "-1",
  "1",
  "9".repeat(30),
  "true",
  "a=b",
  "a in (b",
  "%00",
  "x".repeat(300),
  "All",
  "Exact",
  "null",
];
const types = ["application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json"];
const moreTypes = ["application/strategic-merge-patch+json", "application/apply-patch+yaml", "text/html", ""];
const protobuf = "application/vnd.kubernetes.protobuf";
const bodies = [
  JSON.stringify(pod),
  JSON.stringify({ metadata: { name: "a", resourceVersion: "1" }, data: { x: "2" } }),
  JSON.stringify([{ op: "add", path: "/data/x", value: "3" }]),
  JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { y: "1" } }),
  JSON.stringify({ spec: { resourceAttributes: { verb: "get" } } }),
  "k8s\0\n\u0006\n\u0002v1\u0012\u0000\u0012\u0004\n\u0002\n\u0000",
  "a: [1, *b]\n&b c",
  "",
];

test(`${REQUESTS} requests of nonsense get a Status each, and the server stays`, async () => {
  const random = seededRandom(SEED);
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const mutated = (text: string): string => {
    let made = text;
    for (let times = Math.floor(random() * 4); times > 0; times--) {
      const at = Math.floor(random() * (made.length + 1));
      const piece = one([
        "",
        "/",
        "%2e",
        "%",
        '"',
        "{",
        "[",
        "null",
        "-1",
        "\u0000",
        "é",
        "..",
        "0".repeat(50),
        "}]",
        ":",
      ]);
      made = made.slice(0, at) + piece + made.slice(random() < 0.5 ? at : at + Math.floor(random() * 5));
    }
    return made;
  };
  for (let sent = 0; sent < REQUESTS; sent++) {
    const query = new URLSearchParams();
    for (let n = Math.floor(random() * 3); n > 0; n--)
      query.append(one([...parameters, ...moreParameters]), one(values));
    const path = `/${mutated(one(paths))
      .replaceAll(/[^!-~]/g, "")
      .replace(/^\/+/, "")
      .replaceAll("#", "")}?${query}`;
    const method = one(methods);
    const body = method === "GET" || method === "HEAD" || method === "TRACE" ? undefined : mutated(one(bodies));
    const headers = {
      "content-type": one([...types, ...moreTypes, protobuf]),
      accept: one(["*/*", "text/x", ...types]),
    };
    const what = `seed ${SEED}, ${method} ${path} ${headers["content-type"]} ${JSON.stringify(body)}`;
    const answer = await api.send(method, path, { headers, ...(body !== undefined && { body }) });
    assert(answer.code < 500 || [501, 503, 504].includes(answer.code), `${answer.code} ${answer.text} for ${what}`);
    if (answer.code >= 400 && method !== "HEAD") assert.equal(answer.body.kind, "Status", `${answer.text} for ${what}`);
  }
  assert.equal((await api.get("/readyz")).text, "ok");
});

test("what is cut off, smuggled or no HTTP at all harms nobody", async () => {
  const { hostname, port } = api.requestOptions;
  const say = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = connect({ host: hostname ?? "", port: Number(port), rejectUnauthorized: false }, () => {
        socket.end(text);
      });
      let all = "";
      socket.on("data", (chunk) => {
        all += chunk;
      });
      socket.on("close", () => resolve(all));
      socket.on("error", () => resolve(all));
    });
  const post = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n";
  for (const text of [
    "GET /api HTTP/1.1\r\n\r\n",
    "GET  HTTP/9.9\r\n\r\n",
    `${post}Content-Length: 50\r\n\r\n{`,
    `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`,
    `${post}Content-Length: -1\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `GET /${"a".repeat(100_000)} HTTP/1.1\r\n\r\n`,
    "\u0016\u0003\u0001",
  ]) {
    const answer = await say(text);
    assert(!answer.includes("smuggled"), answer);
    if (answer !== "") assert.match(answer, /^HTTP\/1\.1 4\d\d .*"kind":"Status"/s);
  }
  assert.equal((await api.get("/readyz")).text, "ok");
});
