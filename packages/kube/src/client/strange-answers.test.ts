import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "../kinds/index.ts";
import { ConnectionError } from "../transport/errors.ts";
import { type Answer, reply, testServer } from "../transport/test-server.ts";
import { ApiError } from "./api-error.ts";
import { KubeClient, type KubeClientOptions } from "./client.ts";
import { EndlessList, InvalidAddress } from "./errors.ts";
import type { ListOptions, ObjectList } from "./interfaces.ts";
import { listPages } from "./list-pages.ts";

async function setUp(answer: Answer, options: KubeClientOptions = {}) {
  const server = await testServer(answer);
  const client = new KubeClient({ server: server.url, namespace: "home", tls: {} }, options);
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const web = { namespace: "default", name: "web" };
const strange = { name: "ConnectionError", message: /not what a Kubernetes API gives/ };

test("a list of another shape is a connection error", async () => {
  let body: unknown;
  await using t = await setUp((_, response) => reply(response, 200, body));
  const bodies = [null, 5, "x", [], { items: {} }, { items: 5 }, { items: [null] }, { items: ["a"] }, { items: [{}] }];
  for (body of [...bodies, { items: [{ metadata: null }] }, { metadata: 7 }, { metadata: { continue: {} } }]) {
    await assert.rejects(t.client.list(Pod), strange, JSON.stringify(body));
  }
  for (body of [{}, { items: null }, { metadata: null, items: [] }]) {
    const list = await t.client.list(Pod);
    assert.deepEqual([list.items, list.metadata], [[], {}]);
  }
});

test("an object of another shape is a connection error, and so is a token that is none", async () => {
  let body: unknown;
  await using t = await setUp((_, response) => reply(response, 200, body));
  for (body of [null, 5, "x", []]) {
    await assert.rejects(t.client.get(Pod, web), strange);
    await assert.rejects(t.client.getScale(Pod, web), strange);
    await assert.rejects(t.client.createToken(web), strange);
  }
  for (body of [{}, { status: null }, { status: { token: 5 } }])
    await assert.rejects(t.client.createToken(web), strange);
});

test("an event of another shape is a connection error", async () => {
  let line = "";
  await using t = await setUp((_, response) => void response.writeHead(200).end(`${line}\n`));
  const watch = async () => {
    for await (const _ of t.client.watch(Pod)) assert.fail("no event was expected");
  };
  const lines = [
    "null",
    "5",
    "[]",
    "{}",
    '{"type":"ADDED"}',
    '{"object":{"metadata":{}}}',
    '{"type":"ADDED","object":{}}',
  ];
  for (line of [...lines, '{"type":"NEW","object":{"metadata":{}}}', '{"type":"BOOKMARK","object":{"metadata":5}}']) {
    await assert.rejects(watch(), strange, line);
  }
  for (line of ['{"type":"ERROR"}', '{"type":"ERROR","object":"x"}', '{"type":"ERROR","object":{"code":{}}}']) {
    await assert.rejects(watch(), (error) => error instanceof ApiError && error.statusCode === 500, line);
  }
});

test("events of several watches that have no end are not held beyond what is allowed together", async () => {
  await using t = await setUp((_, response) => void response.writeHead(200).write("x".repeat(400_000)), {
    answersBytes: 1_000_000,
  });
  const stop = new AbortController();
  const watches = [1, 2, 3].map(async () => {
    for await (const _ of t.client.watch(Pod, { signal: stop.signal })) assert.fail("no event was expected");
  });
  await assert.rejects(Promise.race(watches), { name: "ConnectionError", message: /no room for its next event/ });
  stop.abort();
  await Promise.allSettled(watches);
});

test("half a character is no name, and no selector", async () => {
  await using t = await setUp((_, response) => reply(response, 200, {}));
  await assert.rejects(t.client.get(Pod, { name: "a\ud800" }), InvalidAddress);
  await assert.rejects(t.client.list(Pod, { namespace: "a\ud800" }), InvalidAddress);
  await assert.rejects(t.client.list(Pod, { labelSelector: "a=\ud800" }), InvalidAddress);
  await assert.rejects(t.client.exec({ name: "a\ud800" }, { command: ["a"] }), InvalidAddress);
  assert.equal(t.server.requests.length, 0);
});

test("kinds and subresources that would lead elsewhere are refused or escaped", async () => {
  await using t = await setUp((_, response) => reply(response, 200, {}));
  for (const subresource of ["", "..", "../../y", "a/b", "a%2fb"]) {
    await assert.rejects(t.client.get(Pod, web, { subresource }), InvalidAddress, subresource);
  }
  for (const odd of [
    { plural: "../x" },
    { plural: "" },
    { group: "../../api" },
    { version: ".." },
    { version: "a/b" },
  ]) {
    await assert.rejects(t.client.list({ ...Pod, ...odd }), InvalidAddress, JSON.stringify(odd));
  }
  assert.equal(t.server.requests.length, 0);
  await t.client.list({ ...Pod, plural: "pods?x=" });
  await t.client.get(Pod, web, { subresource: "status?x=y" });
  assert.deepEqual(
    t.server.requests.map(({ url }) => url),
    ["/api/v1/pods%3Fx%3D", "/api/v1/namespaces/default/pods/web/status%3Fx%3Dy"],
  );
});

test("a collection is deleted in one namespace only", async () => {
  await using t = await setUp((_, response) => reply(response, 200, {}));
  await assert.rejects(t.client.deleteCollection(Pod, { namespace: "" }), InvalidAddress);
  await t.client.deleteCollection(Pod);
  await t.client.deleteCollection(Pod, { namespace: "shop" });
  await t.client.deleteCollection(Node, { labelSelector: "a" });
  assert.deepEqual(
    t.server.requests.map(({ url }) => url),
    ["/api/v1/namespaces/home/pods", "/api/v1/namespaces/shop/pods", "/api/v1/nodes?labelSelector=a"],
  );
});

test("a listener that throws does not make a write fail that has happened", async () => {
  const onWarning = () => {
    throw new Error("my own mistake");
  };
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
  await using t = await setUp(
    (_, response) => reply(response, 200, { metadata: { name: "web" } }, { warning: '299 - "old"' }),
    { onWarning },
  );
  const made = await t.client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata: { name: "web" } });
  assert.equal(made.metadata.name, "web");
  assert.match((await warned).message, /my own mistake/);
});

test("pages that go in circles, or stay empty, end", async () => {
  const read = async (page: (token: string | undefined) => { next?: string; items?: number }) => {
    let pages = 0;
    const list = async (_: unknown, options: ListOptions = {}) => {
      if (++pages > 1000) throw new Error("still reading");
      const { next, items = 0 } = page(options.continue);
      return { metadata: { continue: next }, items: new Array(items).fill({ metadata: {} }) } as ObjectList<never>;
    };
    for await (const _ of listPages({ list }, Pod, {}));
    return pages;
  };
  await assert.rejects(
    read(() => ({ next: "same", items: 1 })),
    EndlessList,
  );
  await assert.rejects(
    read((token) => ({ next: token === "a" ? "b" : "a", items: 1 })),
    EndlessList,
  );
  await assert.rejects(
    read((token = "") => ({ next: `${token}x` })),
    EndlessList,
  );
  assert.equal(await read((token = "") => (token.length < 50 ? { next: `${token}x` } : {})), 51);
  assert.equal(await read((token = "") => (token.length < 500 ? { next: `${token}x`, items: 1 } : {})), 501);
});

test("a refusal that the server sends no end of is still an error", async () => {
  await using t = await setUp((_, response) => void response.writeHead(500).end("no ".repeat(2_000_000)));
  await assert.rejects(t.client.get(Pod, web), (error) => error instanceof ApiError && error.message.length < 1000);
  assert.ok(!(await t.client.get(Pod, web).catch((error: unknown) => error instanceof ConnectionError)));
});
