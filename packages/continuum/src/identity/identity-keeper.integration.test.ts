import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EventRecorder, ifNotFound, KubeClient, Namespace, Secret, SharedCaches } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { IdentityKeeper } from "./identity-keeper.ts";
import { IDENTITY_SECRET, KeyStore, type StoredIdentity } from "./key-store.ts";
import { means } from "./test-pairing.ts";

const NAMESPACE = "kept-identity";

describe("the key of a site", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: SharedTestSite;
  let client: KubeClient;
  let stored: StoredIdentity;
  const warnings: string[] = [];
  const stop = new AbortController();
  let running: Promise<unknown>;

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config);
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    stored = await KeyStore.load(client, NAMESPACE, { name: "harbour" });
    const shared = { ...means, client, logger: { ...means.logger, warn: (said: string) => void warnings.push(said) } };
    const caches = new SharedCaches(shared);
    const recorder = new EventRecorder({ ...shared, component: "test" });
    const keeper = new IdentityKeeper({
      home: { ...shared, caches, recorder, identity: stored.key, namespace: NAMESPACE },
      stored,
    });
    running = Promise.all([caches.run(stop.signal), keeper.run(stop.signal, stop.signal)]);
  });
  after(async () => {
    stop.abort();
    await running;
    await client?.close();
  });

  const secret = { name: IDENTITY_SECRET, namespace: NAMESPACE };
  const found = () => client.get(Secret, secret).catch(ifNotFound);
  const until = async (what: () => boolean | Promise<boolean>) => {
    while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  test("outlives its Secret, with the name that the site has by then", async () => {
    await KeyStore.load(client, NAMESPACE, { name: "port" });
    for (let times = 1; times <= 3; times++) {
      const { metadata } = await client.get(Secret, secret);
      await client.delete(Secret, secret);
      await until(async () => ![metadata.uid, undefined].includes((await found())?.metadata.uid));
      await until(() => warnings.length === times);
      const { key, name } = await KeyStore.load(client, NAMESPACE);
      assert.deepEqual([key.id, name], [stored.key.id, "port"]);
    }
  });

  test("is left as somebody else has it", async () => {
    const other = await KeyStore.load(client, "default");
    const { data } = await client.get(Secret, { name: IDENTITY_SECRET, namespace: "default" });
    const changed = await client.patch(Secret, secret, "merge", { data });
    assert.equal(await KeyStore.keep(client, NAMESPACE, stored), false);
    assert.equal((await found())?.metadata.resourceVersion, changed.metadata.resourceVersion);
    assert.equal((await KeyStore.load(client, NAMESPACE)).key.id, other.key.id);
  });
});
