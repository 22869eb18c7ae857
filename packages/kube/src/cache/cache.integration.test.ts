import assert from "node:assert/strict";
import { cp, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { test } from "node:test";
import { type Random, seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import { type Site, siteFiles } from "@fjord/testbed";
import { type KubernetesMinor, kubernetesSkip, startTestSite } from "@fjord/testbed/testing";
import { KubeClient } from "../client/client.ts";
import { Cache } from "./cache.ts";
import { type ConfigMap, configMaps, until } from "./cache-harness.ts";
import { Follower } from "./follower.ts";
import { sameContent } from "./same-content.ts";
import { keyTextOf } from "./store.ts";

const limits = { timeout: 60_000 };

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  test(`the cache follows a real API server, Kubernetes ${kubernetes}`, {
    skip: kubernetesSkip(kubernetes),
  }, async (t) => {
    await using testSite = await startTestSite({ kubernetes });
    const { site } = testSite;
    // One way for each: over a connection that watches share, and over one of its own.
    const client = new KubeClient(testSite.config, { shareWatches: kubernetes === "1.36" });
    const cache = new Cache<ConfigMap>({
      client,
      kind: configMaps,
      scope: { namespace: "default" },
      clock: systemClock,
      random: Math.random,
      logger: silentLogger,
      timing: { pageSize: 7, backoffInitialMs: 50, backoffMaxMs: 500, idleTimeoutMs: 3_000, listTimeoutMs: 5_000 },
    });
    const told = new Follower<ConfigMap>();
    cache.addHandler(told);
    const stop = new AbortController();
    const running = cache.run(stop.signal);
    const churn = new Churn(client, seededRandom(7));
    const equalsTruth = async () => {
      const { items } = await client.list(configMaps, { namespace: "default" });
      await until("the cache equals the list", () => sameObjects(cache.list(), items), 30_000);
      assert.ok(sameObjects([...told.state.values()], items), "what the handler was told does not add up to the list");
      assert.deepEqual(told.complaints, []);
    };
    try {
      await t.test("writes, more than a page of them", async () => {
        await churn.write(60);
        await cache.waitForSync(AbortSignal.timeout(90_000));
        await churn.write(60);
        await equalsTruth();
      });

      await t.test("an API server killed and started again under load", async () => {
        for (let round = 0; round < 2; round++) {
          const writing = churn.write(120);
          await sleep(systemClock, 100);
          await site.process("kube-apiserver").kill();
          await site.process("kube-apiserver").start();
          await site.ready(limits);
          await writing;
          await equalsTruth();
        }
      });

      await t.test("an API server that is paused for longer than the cache waits", async () => {
        const failures = cache.health.lastError?.at;
        await site.process("kube-apiserver").pause();
        await until("the silence is noticed", () => cache.health.lastError?.at !== failures, 30_000);
        await site.process("kube-apiserver").resume();
        await site.ready(limits);
        await churn.write(20);
        await equalsTruth();
      });

      await t.test("a revision that was compacted while the API server was away", async () => {
        await churn.write(10);
        await equalsTruth();
        await site.process("kube-apiserver").kill();
        await compactEverything(site);
        await site.process("kube-apiserver").start();
        await site.ready(limits);
        await churn.write(10);
        await equalsTruth();
      });

      await t.test("etcd restored from a backup, with older revisions", async () => {
        const data = siteFiles(site.layout).etcdData;
        await halt(site);
        await cp(data, `${data}-backup`, { recursive: true });
        await site.start(limits);
        await churn.write(80);
        await equalsTruth();
        const before = Number(cache.health.resourceVersion);
        await halt(site);
        told.historyChanged();
        await rm(data, { recursive: true });
        await cp(`${data}-backup`, data, { recursive: true });
        await site.start(limits);
        const { metadata } = await client.list(configMaps, { namespace: "default" });
        assert.ok(Number(metadata.resourceVersion) < before, "the revision did not go back");
        await equalsTruth();
        await churn.write(20);
        await equalsTruth();
      });
    } finally {
      stop.abort();
      await running;
      await client.close();
    }
  });
}

/** Random writes that take every failure of the server as it comes. */
class Churn {
  readonly #client: KubeClient;
  readonly #random: Random;

  constructor(client: KubeClient, random: Random) {
    this.#client = client;
    this.#random = random;
  }

  async write(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const key = { namespace: "default", name: `churn-${Math.floor(this.#random() * 40)}` };
      const object: ConfigMap = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: key,
        data: { value: String(this.#random()) },
      };
      const writing =
        this.#random() < 0.3
          ? this.#client.delete(configMaps, key)
          : this.#client.apply(configMaps, object, { fieldManager: "churn", force: true });
      // A server that is away, or an object that is not there: the next write is as good.
      await Promise.resolve(writing).catch(() => sleep(systemClock, 5));
    }
  }
}

async function halt(site: Site): Promise<void> {
  await site.process("kube-apiserver").kill();
  await site.process("etcd").stop();
}

/** Makes etcd forget all but the current revision, through its HTTP gateway. */
async function compactEverything(site: Site): Promise<void> {
  const { header } = await etcd(site, "/v3/kv/range", { key: Buffer.from("x").toString("base64") });
  await etcd(site, "/v3/kv/compaction", { revision: header.revision, physical: true });
}

async function etcd(site: Site, path: string, body: object): Promise<{ header: { revision: string } }> {
  const files = siteFiles(site.layout);
  const [ca, cert, key] = await Promise.all(
    [files.certificate("etcd-ca"), files.certificate("etcd-client"), files.key("etcd-client")].map((file) =>
      readFile(file, "utf8"),
    ),
  );
  return new Promise((resolve, reject) => {
    const url = `https://127.0.0.1:${site.layout.ports.etcd}${path}`;
    const call = request(url, { method: "POST", ca, cert, key }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      if (response.statusCode === 200) resolve(JSON.parse(text));
      else reject(new Error(`etcd answered ${response.statusCode}: ${text}`));
    });
    call.on("error", reject);
    call.end(JSON.stringify(body));
  });
}

function sameObjects(a: readonly ConfigMap[], b: readonly ConfigMap[]): boolean {
  const byKey = (x: ConfigMap, y: ConfigMap) => (keyTextOf(x) < keyTextOf(y) ? -1 : 1);
  return sameContent(a.toSorted(byKey), b.toSorted(byKey));
}
