import assert from "node:assert/strict";
import { test } from "node:test";
import { CONSUMER_LABEL, MANAGED_LABEL, ORIGIN_NAMESPACE_LABEL } from "@fjord/api";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ConfigMap, KubeClient } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { RemoteSite } from "../../remote-site.ts";
import type { ReflectedKind } from "../reflected-kind.ts";
import { RemoteTwins } from "./remote-twins.ts";

const never = new AbortController().signal;
const labels = { [CONSUMER_LABEL]: "consumer", [MANAGED_LABEL]: "reflect", [ORIGIN_NAMESPACE_LABEL]: "shop" };
const kind: ReflectedKind<ConfigMap> = {
  kind: ConfigMap,
  policy: "DenyList",
  forge: ({ data }) => ({ data }),
  seen: ({ data }) => ({ data }),
};
const wanted = { namespace: "twin", name: "one", metadata: { labels, annotations: {} }, body: { data: { a: "1" } } };

/** The twins at a site, once they are known. */
async function twinsAt(server: FaultServer) {
  const client = new KubeClient({ server: server.url, namespace: "default", tls: {} }, { closeGraceMs: 0 });
  const clock = new ManualClock();
  const synced = Promise.withResolvers<void>();
  const changes: string[] = [];
  const twins = new RemoteTwins<ConfigMap>({
    means: { clock, random: seededRandom(1), logger: silentLogger },
    consumer: "consumer",
    site: { kube: client } as unknown as RemoteSite,
    kind,
    hasOriginal: async () => false,
    onChange: (namespace, name) => void changes.push(`${namespace}/${name}`),
    onSync: () => synced.resolve(),
    onRefusal: () => {},
  });
  twins.start();
  await synced.promise;
  return {
    twins,
    clock,
    changes,
    watches: () => server.requests.count({ verb: "watch" }),
    async [Symbol.asyncDispose]() {
      twins.stop();
      await client.close();
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, "it did not come about");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a kind of which a site has no twin is not watched there before one is made", async () => {
  await using server = await FaultServer.start();
  await using at = await twinsAt(server);
  // Long enough for a watch that would have begun.
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(at.watches(), 0);
  assert.equal((await at.twins.align(undefined, wanted, never)).done, "Created");
  await until(() => at.changes.includes("twin/one"));
  assert.equal(at.watches(), 1);
});

test("twins that are there are watched, and for a while when the last has gone", async () => {
  await using server = await FaultServer.start();
  server.create(ConfigMap, { metadata: { name: "one", namespace: "twin", labels }, data: {} });
  await using at = await twinsAt(server);
  await until(() => at.watches() === 1);
  server.delete(ConfigMap, { namespace: "twin", name: "one" });
  await until(() => at.twins.list().length === 0);
  await at.clock.advance(10_000);
  assert.equal((await at.twins.align(undefined, wanted, never)).done, "Created");
  await until(() => at.twins.list().length === 1);
  assert.equal(at.watches(), 1);
});
