import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { type Answer, TestApi } from "./test-api.ts";

let api: TestApi;
before(async () => {
  api = await TestApi.start();
});
after(() => api[Symbol.asyncDispose]());

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data: { a: "1" },
});

function refused({ code, body }: Answer, expected: number, reason: string, message?: string | RegExp): void {
  assert.equal(code, expected, body.message);
  assert.deepEqual([body.kind, body.status, body.reason, body.code], ["Status", "Failure", reason, expected]);
  if (typeof message === "string") assert.equal(body.message, message);
  else if (message !== undefined) assert.match(body.message, message);
}

describe("names that every object of the language has", () => {
  test("are no subresources", async () => {
    await api.post(maps, map("plain"));
    for (const name of ["constructor", "__proto__", "toString"]) {
      for (const method of ["GET", "PUT", "DELETE"]) {
        refused(await api.send(method, `${maps}/plain/${name}`, { body: {} }), 404, "NotFound");
      }
    }
  });

  test("are keys as any others", async () => {
    const data = JSON.parse('{"constructor":"1","__proto__":"2","hasOwnProperty":"3"}');
    const made = await api.post(maps, { ...map("named"), data });
    assert.equal(made.code, 201, made.text);
    assert.deepEqual((await api.get(`${maps}/named`)).body.data, data);
  });
});

describe("objects", () => {
  test("are made, read, replaced and deleted", async () => {
    const made = await api.post(maps, map("life"));
    assert.equal(made.code, 201);
    assert.match(made.body.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.equal(made.body.metadata.namespace, "default");
    const { body: read } = await api.get(`${maps}/life`);
    assert.deepEqual(read, made.body);
    const changed = await api.send("PUT", `${maps}/life`, { body: { ...(read as object), data: { a: "2" } } });
    assert.equal(changed.code, 200);
    assert(Number(changed.body.metadata.resourceVersion) > Number(read.metadata.resourceVersion));
    const gone = await api.send("DELETE", `${maps}/life`);
    assert.deepEqual(gone.body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "life", kind: "configmaps", uid: read.metadata.uid },
    });
    refused(await api.get(`${maps}/life`), 404, "NotFound", 'configmaps "life" not found');
  });

  test("are not made twice, and not replaced in a version that is no longer there", async () => {
    const { body } = await api.post(maps, map("twice"));
    refused(await api.post(maps, map("twice")), 409, "AlreadyExists", 'configmaps "twice" already exists');
    await api.patch(`${maps}/twice`, { data: { b: "2" } });
    const late = await api.send("PUT", `${maps}/twice`, { body });
    refused(
      late,
      409,
      "Conflict",
      /^Operation cannot be fulfilled on configmaps "twice": the object has been modified/,
    );
  });

  test("keep their version where a write changes nothing", async () => {
    const { body } = await api.post(maps, map("same"));
    const again = await api.patch(`${maps}/same`, { data: { a: "1" } });
    assert.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion);
  });

  test("get names of their own where asked for, all different", async () => {
    const { name: _, ...metadata } = { name: "", generateName: "some-" };
    const many = await Promise.all(Array.from({ length: 20 }, () => api.post(maps, { ...map(""), metadata })));
    const names = many.map(({ body }) => body.metadata.name);
    assert.equal(new Set(names).size, 20);
    for (const name of names) assert.match(name, /^some-[a-z0-9]{5}$/);
  });

  test("of a dry run are answered and not kept", async () => {
    const made = await api.post(`${maps}?dryRun=All`, map("dry"));
    assert.equal(made.code, 201);
    assert.equal(made.body.metadata.resourceVersion, undefined);
    refused(await api.get(`${maps}/dry`), 404, "NotFound");
    refused(await api.post(`${maps}?dryRun=Some`, map("dry")), 422, "Invalid");
  });

  test("with finalizers wait for them", async () => {
    await api.post(maps, map("held", { finalizers: ["example.com/hold"] }));
    const first = await api.send("DELETE", `${maps}/held`);
    assert.equal(first.code, 200);
    assert(first.body.metadata.deletionTimestamp);
    assert.equal((await api.get(`${maps}/held`)).code, 200);
    await api.patch(`${maps}/held`, { metadata: { finalizers: null } });
    refused(await api.get(`${maps}/held`), 404, "NotFound");
  });

  test("are deleted only as the preconditions say", async () => {
    await api.post(maps, map("sure"));
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid: "other" } };
    refused(
      await api.send("DELETE", `${maps}/sure`, { body }),
      409,
      "Conflict",
      /the UID in the precondition \(other\)/,
    );
    const policy = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Foreground" };
    const held = await api.send("DELETE", `${maps}/sure`, { body: policy });
    assert.deepEqual(held.body.metadata.finalizers, ["foregroundDeletion"]);
  });

  test("are deleted by the many, as selected", async () => {
    for (const colour of ["red", "red", "blue"]) {
      await api.post(maps, { ...map(""), metadata: { generateName: "many-", labels: { colour } } });
    }
    const { body } = await api.send("DELETE", `${maps}?labelSelector=colour%3Dred`);
    assert.equal(body.kind, "ConfigMapList");
    assert.equal(body.items.length, 2);
    const { body: left } = await api.get(`${maps}?labelSelector=colour`);
    assert.deepEqual(
      left.items.map((one) => one.metadata.labels.colour),
      ["blue"],
    );
  });

  test("may be written in YAML", async () => {
    const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: 'yes'\n";
    const made = await api.send("POST", maps, { body, headers: { "content-type": "application/yaml" } });
    assert.equal(made.body.data.k, "yes");
    const { text } = await api.get(`${maps}/yaml`, { accept: "application/yaml" });
    assert.match(text, /^kind: ConfigMap$/m);
  });
});

describe("lists", () => {
  before(async () => {
    await api.post("/api/v1/namespaces", { metadata: { name: "lists" } });
    for (let i = 0; i < 7; i++) {
      await api.post("/api/v1/namespaces/lists/configmaps", map(`m${i}`, { labels: { odd: String(i % 2) } }));
    }
  });
  const path = "/api/v1/namespaces/lists/configmaps";
  const names = ({ body }: Answer) => body.items.map((one) => one.metadata.name);

  test("come in pages of one moment", async () => {
    const first = await api.get(`${path}?limit=3`);
    assert.deepEqual(names(first), ["m0", "m1", "m2"]);
    assert.equal(first.body.metadata.remainingItemCount, 4);
    await api.post(path, map("m3a"));
    const second = await api.get(`${path}?limit=3&continue=${first.body.metadata.continue}`);
    assert.deepEqual(names(second), ["m3", "m4", "m5"]);
    assert.equal(second.body.metadata.resourceVersion, first.body.metadata.resourceVersion);
    const third = await api.get(`${path}?limit=3&continue=${second.body.metadata.continue}`);
    assert.deepEqual(names(third), ["m6"]);
    assert.equal(third.body.metadata.continue, undefined);
    await api.send("DELETE", `${path}/m3a`);
  });

  test("select by labels and fields", async () => {
    assert.deepEqual(names(await api.get(`${path}?labelSelector=odd%20in%20(1)`)), ["m1", "m3", "m5"]);
    assert.deepEqual(names(await api.get(`${path}?labelSelector=odd%3D0&limit=2`)), ["m0", "m2"]);
    assert.deepEqual(names(await api.get(`${path}?fieldSelector=metadata.name%3Dm4`)), ["m4"]);
    refused(await api.get(`${path}?fieldSelector=spec.x%3Dm4`), 400, "BadRequest", /not a known field selector/);
    refused(await api.get(`${path}?labelSelector=a%3D%3D%3Db`), 400, "BadRequest", /unable to parse requirement/);
  });

  test("say nothing of kinds within, and of revisions what is asked", async () => {
    const { body } = await api.get(path);
    assert.equal(body.kind, "ConfigMapList");
    assert.equal(body.items[0]?.kind, undefined);
    const revision = Number(body.metadata.resourceVersion);
    refused(await api.get(`${path}?resourceVersion=${revision + 1000}`), 504, "Timeout", /Too large resource version/);
    const exact = `${path}?resourceVersionMatch=Exact&resourceVersion=${revision}`;
    await api.post(path, map("later"));
    assert(!names(await api.get(exact)).includes("later"));
    await api.send("DELETE", `${path}/later`);
    refused(await api.get(`${path}?resourceVersionMatch=Exact`), 422, "Invalid");
    refused(await api.get(`${path}?continue=nonsense`), 400, "BadRequest");
  });

  test("may be tables, or metadata only", async () => {
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const { body: table } = await api.get(path, { accept });
    assert.deepEqual([table.kind, table.apiVersion], ["Table", "meta.k8s.io/v1"]);
    assert.deepEqual(
      table.columnDefinitions.map((one) => one.name),
      ["Name", "Data", "Age"],
    );
    assert.equal(table.rows[0]?.cells[0], "m0");
    assert.equal(table.rows[0]?.object.kind, "PartialObjectMetadata");
    const partial = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    const { body: metadata } = await api.get(path, { accept: partial });
    assert.equal(metadata.kind, "PartialObjectMetadataList");
    assert.deepEqual(Object.keys(metadata.items[0] as object).sort(), ["apiVersion", "kind", "metadata"]);
    refused(await api.get(path, { accept: "text/html" }), 406, "NotAcceptable");
  });

  test("gives OpenAPI in the binary form to who asks for that", async () => {
    const [name, older] = ["v2.v1.0", "v2@v1.0"].map((v) => `application/com.github.proto-openapi.spec.${v}+protobuf`);
    for (const accept of [name, older] as string[]) {
      const { headers, text } = await api.get("/openapi/v2", { accept });
      assert.deepEqual([headers["content-type"], text.slice(0, 5)], [name, "\n\x032.0"]);
    }
    refused(await api.get("/openapi/v3/api/v1", { accept: name as string }), 406, "NotAcceptable");
  });
});

describe("watches", () => {
  const path = "/api/v1/namespaces/watched/configmaps";
  before(() => api.post("/api/v1/namespaces", { metadata: { name: "watched" } }));

  async function take(events: AsyncGenerator<{ type: string; object: { metadata: { name: string } } }>, count: number) {
    const seen: string[] = [];
    for await (const { type, object } of events) {
      seen.push(`${type} ${object.metadata.name ?? ""}`.trim());
      if (seen.length === count) break;
    }
    return seen;
  }

  test("tell what changes after a revision", async () => {
    const { body } = await api.get(path);
    const watching = take(api.watch(`${path}?watch=1&resourceVersion=${body.metadata.resourceVersion}`), 3);
    await api.post(path, map("w"));
    await api.patch(`${path}/w`, { data: { a: "2" } });
    await api.send("DELETE", `${path}/w`);
    assert.deepEqual(await watching, ["ADDED w", "MODIFIED w", "DELETED w"]);
  });

  test("see objects come into their selection, and leave it", async () => {
    await api.post(path, map("s"));
    const { body } = await api.get(path);
    const query = `watch=1&labelSelector=in&resourceVersion=${body.metadata.resourceVersion}`;
    const watching = take(api.watch(`${path}?${query}`), 3);
    await api.patch(`${path}/s`, { metadata: { labels: { in: "" } } });
    await api.patch(`${path}/s`, { data: { a: "3" } });
    await api.patch(`${path}/s`, { metadata: { labels: { in: null } } });
    assert.deepEqual(await watching, ["ADDED s", "MODIFIED s", "DELETED s"]);
    await api.send("DELETE", `${path}/s`);
  });

  test("begin with what is there, and say where that ends", async () => {
    await api.post(path, map("i"));
    const query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    assert.deepEqual(await take(api.watch(`${path}?${query}`), 2), ["ADDED i", "BOOKMARK"]);
    refused(await api.get(`${path}?watch=1&sendInitialEvents=true`), 422, "Invalid");
    await api.send("DELETE", `${path}/i`);
  });

  test("end after their time, with a bookmark to go on from", async () => {
    const query = "watch=1&timeoutSeconds=1&allowWatchBookmarks=true";
    assert.deepEqual(await take(api.watch(`${path}?${query}`), 2), ["BOOKMARK"]);
  });
});

describe("paths", () => {
  test("that lead nowhere are said to", async () => {
    for (const path of ["/nothing", "/apis/nobody/v1/things", "/api/v1/nothing", `${maps}/a/b`, "/api/v2/pods"]) {
      refused(await api.get(path), 404, "NotFound", "the server could not find the requested resource");
    }
    refused(await api.send("PUT", maps, { body: {} }), 405, "MethodNotAllowed");
    refused(await api.get("/api/v1/namespaces/%E0%A4%A/pods"), 400, "BadRequest");
  });

  test("of discovery tell what there is", async () => {
    const { body: versions } = await api.get("/api");
    assert.deepEqual(versions.versions, ["v1"]);
    const { body: core } = await api.get("/api/v1");
    const pods = core.resources.find((one) => one.name === "pods");
    assert.deepEqual([pods?.kind, pods?.shortNames], ["Pod", ["po"]]);
    const { body: groups } = await api.get("/apis");
    assert(groups.groups.some((one) => one.name === "apps" && one.preferredVersion.version === "v1"));
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const { body: all, headers } = await api.get("/apis", { accept });
    assert.equal(all.kind, "APIGroupDiscoveryList");
    assert.equal(headers["content-type"], accept);
  });

  test("of health and metrics answer", async () => {
    for (const path of ["/healthz", "/livez", "/readyz", "/readyz/ping"])
      assert.equal((await api.get(path)).text, "ok");
    assert.match((await api.get("/readyz?verbose")).text, /\[\+\]ping ok\n.*readyz check passed\n$/s);
    assert.match((await api.get("/metrics")).text, /^apiserver_request_total\{code="200"/m);
    assert.equal((await api.get("/version")).body.major, "1");
  });
});

describe("bad requests", () => {
  test("get a Status, whatever they are", async () => {
    refused(await api.send("POST", maps, { body: "{" }), 400, "BadRequest");
    refused(await api.send("POST", maps, { body: "[]" }), 400, "BadRequest");
    const text = { "content-type": "text/plain" };
    refused(await api.send("POST", maps, { body: "x", headers: text }), 415, "UnsupportedMediaType");
    refused(await api.send("POST", maps, { body: "x".repeat(4e6) }), 413, "RequestEntityTooLarge");
    refused(await api.post(maps, { ...map("x"), metadata: { name: "x", namespace: "other" } }), 400, "BadRequest");
    refused(await api.post(maps, { ...map("UPPER") }), 422, "Invalid");
    refused(await api.patch(`${maps}/none`, {}), 404, "NotFound");
    refused(await api.patch(`${maps}/none`, {}, "nonsense"), 415, "UnsupportedMediaType");
  });

  test("of unknown fields are warned of, or refused", async () => {
    const strange = { ...map("strange"), nonsense: 1 };
    const warned = await api.post(maps, strange);
    assert.equal(warned.headers.warning, '299 - "unknown field \\"nonsense\\""');
    refused(await api.post(`${maps}?fieldValidation=Strict`, strange), 400, "BadRequest", /strict decoding error/);
    assert.equal(
      (await api.post(`${maps}?fieldValidation=Ignore&dryRun=All`, map("quiet"))).headers.warning,
      undefined,
    );
  });

  test("that are no HTTP get an answer, too", async () => {
    const { hostname, port } = api.requestOptions;
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect({ host: hostname ?? "", port: Number(port), rejectUnauthorized: false }, () => {
        socket.write("NONSENSE\r\n\r\n");
      });
      let all = "";
      socket.on("data", (chunk) => {
        all += chunk;
      });
      socket.on("close", () => resolve(all));
      socket.on("error", reject);
    });
    assert.match(text, /^HTTP\/1.1 400 .*"kind":"Status"/s);
  });
});
