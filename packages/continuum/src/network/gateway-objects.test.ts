import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Link, newObject, Site } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, Secret, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { GatewayObjects } from "./gateway-objects.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const naming = [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }];

describe("what a gateway reads of its site's API", () => {
  it("is the own site's links, and its key", async () => {
    await using server = await FaultServer.start();
    await using client = new KubeClient(clusterConfig({ server: server.url }));
    const caches = new SharedCaches({ client, clock: systemClock, random: Math.random, logger: silentLogger });
    const objects = new GatewayObjects({ client, caches, namespace: "fjord-system", now: () => systemClock.now() });
    const own = newObject(Site, { metadata: { name: "own" }, spec: { network: { port: 4000 } } });
    server.create(Site, { ...own, status: { role: "Self" } } as never);
    server.create(Site, newObject(Site, { metadata: { name: "peer" }, spec: { id } }) as never);
    const plan = newObject(AddressPlan, { metadata: { name: id }, spec: { site: id, own: naming, peer: naming } });
    server.create(AddressPlan, plan as never);
    const publicKey = `${"Ab+/".repeat(10)}Abc=`;
    const spec = { site: id, publicKey, endpoints: ["a:1"], groups: [] };
    server.create(Link, newObject(Link, { metadata: { name: id }, spec }) as never);
    const stop = new AbortController();
    const running = caches.run(stop.signal);
    await caches.waitForSync();
    assert.equal(await objects.read(), undefined);
    const privateKey = Buffer.from("secret").toString("base64");
    const metadata = { name: "fjord-link", namespace: "fjord-system" };
    server.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data: { privateKey } });
    let found = await objects.read();
    for (
      const deadline = Date.now() + 30_000;
      found === undefined && Date.now() < deadline;
      found = await objects.read()
    )
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(found?.privateKey, "secret");
    assert.equal(found?.state.listenPort, 4000);
    assert.deepEqual(
      found?.state.peers.map(({ siteId, own: ours, link }) => [siteId, ours, link.endpoints]),
      [[id, naming, ["a:1"]]],
    );
    stop.abort();
    await running;
  });
});
