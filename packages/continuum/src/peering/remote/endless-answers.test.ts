import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, test } from "node:test";
import { Cache, Pod } from "@fjord/kube";
import { KUBE_PREFIX } from "../../protocol.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { reportRoute } from "../proxy/test-provider.ts";
import { TestSites } from "../proxy/test-tenants.ts";
import { PeerServer } from "../server/peer-server.ts";
import { means, siteObject, testSite } from "../server/test-sites.ts";
import { LiveRemoteSites } from "./live-remote-sites.ts";

// A provider whose owner means us ill, and whose API tells of pods that have no end.

const ROOM = 4 * 2 ** 20;
const [provider, consumer] = await Promise.all([testSite(), testSite()]);
const stop = new AbortController();
const runs: Promise<unknown>[] = [];
after(async () => {
  stop.abort();
  await Promise.all(runs);
});

let told = 0;
function pod() {
  const name = `pod-${told++}`;
  const metadata = { name, namespace: "shop", uid: name, resourceVersion: String(told + 100) };
  return { apiVersion: "v1", kind: "Pod", metadata, status: { message: "x".repeat(10_000) } };
}

async function consume(
  handle: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<RemoteSite> {
  const server = new PeerServer({
    ...means,
    tls: provider.tls,
    siteOf: (id) => siteObject(id),
    routes: [reportRoute(provider.id)],
    rawRoutes: [{ prefix: KUBE_PREFIX, access: "peer", handle }],
    host: "127.0.0.1",
    port: 0,
  });
  runs.push(server.run(stop.signal));
  const sites = new TestSites();
  sites.set(siteObject(provider.id, { endpoints: [`https://127.0.0.1:${(await server.listen())?.port}`] }));
  const remotes = new LiveRemoteSites({ ...means, sites, tls: consumer.tls, roomBytes: ROOM });
  runs.push(remotes.run(stop.signal));
  return remotes.get(provider.id) as RemoteSite;
}

async function watchUntilFull(remote: RemoteSite): Promise<Cache<Pod>> {
  // What it is refused is not begun again before it is looked at.
  const cache = new Cache({ ...means, kind: Pod, client: remote.kube, timing: { backoffInitialMs: 60_000 } });
  runs.push(cache.run(stop.signal));
  while (!/may take 4 MiB together/.test(String(cache.health.lastError?.error)))
    await new Promise((resolve) => setTimeout(resolve, 20));
  return cache;
}

test("a list that has always another page is not kept beyond its room", { timeout: 60_000 }, async () => {
  told = 0;
  const remote = await consume((_, response) => {
    const items = Array.from({ length: 50 }, pod);
    const metadata = { resourceVersion: "1", continue: `token-${told}` };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ apiVersion: "v1", kind: "PodList", metadata, items }));
  });
  const cache = await watchUntilFull(remote);
  assert.equal(cache.size, 0);
  assert.match(String(cache.health.lastError?.error), new RegExp(`site ${provider.id} sends more of Pod`));
  assert.equal(remote.kube.room?.taken, 0);
});

test("a watch that adds without end is not kept beyond its room", { timeout: 60_000 }, async () => {
  told = 0;
  const remote = await consume(async (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (!request.url?.includes("watch=")) {
      const metadata = { resourceVersion: "1" };
      response.end(JSON.stringify({ apiVersion: "v1", kind: "PodList", metadata, items: [] }));
      return;
    }
    while (!response.destroyed) {
      const more = response.write(`${JSON.stringify({ type: "ADDED", object: pod() })}\n`);
      await new Promise((resolve) =>
        more ? setImmediate(resolve) : response.once("drain", resolve).once("close", resolve),
      );
    }
  });
  const cache = await watchUntilFull(remote);
  assert.ok(cache.size * 10_000 <= ROOM, `${cache.size} pods are kept`);
  assert.equal(cache.hasSynced, true);
});
