import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, test } from "node:test";
import type { KubeClient } from "@fjord/kube";
import { SiteBridge } from "./site-bridge.ts";

/** Plays the other site's agent: tells what it was asked. */
const site = createServer((incoming, response) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const { authorization = "none" } = incoming.headers;
    const answer = JSON.stringify({ url: incoming.url, authorization, body: Buffer.concat(chunks).toString() });
    response.setHeader("content-type", "application/json");
    response.end(incoming.url?.includes("watch") ? watched : answer);
  });
});
site.on("upgrade", (incoming, socket) => {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\nconnection: Upgrade\r\n\r\n${incoming.url}`);
  socket.pipe(socket);
});
/** Shorter here than there: were the length passed on, the answer would have no end. */
const watched = `${JSON.stringify({ object: { metadata: { namespace: "shop-a", name: "ø" } } })}\n`.repeat(3);
const home = {
  raw: async (_: string, path: string) => ({ body: Buffer.from(`home ${path}`), headers: {} }),
} as unknown as KubeClient;
let bridge: SiteBridge;

before(async () => {
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const { port } = site.address() as AddressInfo;
  const dial = async () => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  bridge = await SiteBridge.open({
    site: "wave",
    connect: dial,
    prefix: "/kube",
    home,
    twins: new Map([["shop", "shop-a"]]),
  });
});

after(async () => {
  await bridge[Symbol.asyncDispose]();
  site.close();
  site.closeAllConnections();
});

test("what is asked goes to the site, in the twin of the namespace, without credentials of this machine", async () => {
  const answer = await fetch(`${bridge.url}/api/v1/namespaces/shop/pods?limit=5`, {
    headers: { authorization: "Bearer mine" },
  });
  assert.deepEqual(await answer.json(), {
    url: "/kube/api/v1/namespaces/shop-a/pods?limit=5",
    authorization: "none",
    body: "",
  });
  const other = await fetch(`${bridge.url}/api/v1/namespaces/other/pods`);
  assert.match(await other.text(), /namespaces\/other\/pods/);
});

test("namespaces have the names of this site here, and those of the other there", async () => {
  const listed = await fetch(`${bridge.url}/api/v1/namespaces/shop/pods?watch=true`);
  assert.equal(await listed.text(), watched.replaceAll("shop-a", "shop"));
  const body = JSON.stringify({ metadata: { name: "web", namespace: "shop" }, spec: { note: "shop" } });
  const headers = { "content-type": "application/json" };
  const asked = await fetch(`${bridge.url}/api/v1/namespaces/shop/pods`, { method: "POST", headers, body });
  const { body: arrived } = (await asked.json()) as { body: string };
  assert.deepEqual(JSON.parse(arrived), { metadata: { name: "web", namespace: "shop-a" }, spec: { note: "shop" } });
});

test("which kinds there are is asked at home", async () => {
  for (const path of ["/api", "/apis?x=1", "/apis/apps/v1", "/api/v1", "/version", "/openapi/v3"])
    assert.equal(await (await fetch(bridge.url + path)).text(), `home ${path}`);
});

test("whoever does not know the secret gets nothing", async () => {
  const { origin } = new URL(bridge.url);
  for (const path of ["/api/v1/pods", "/", `/${"0".repeat(48)}/api/v1/pods`])
    assert.equal((await fetch(origin + path)).status, 404);
});

test("a connection that is upgraded carries both ways", async () => {
  const url = new URL(`${bridge.url}/api/v1/namespaces/shop/pods/web/exec`);
  const asked = request(url, { headers: { connection: "Upgrade", upgrade: "echo" } });
  asked.end();
  const [, socket, head] = (await once(asked, "upgrade")) as [unknown, import("node:net").Socket, Buffer];
  let heard = head.toString();
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.toString();
  });
  socket.write("hello");
  while (!heard.includes("hello")) await once(socket, "data");
  assert.equal(heard, "/kube/api/v1/namespaces/shop-a/pods/web/exechello");
  socket.destroy();
});
