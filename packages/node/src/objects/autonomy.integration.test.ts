import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import { ConfigMap, clusterConfig, KubeClient, Namespace, Node, Pod, RuntimeClass, Secret, Service } from "@fjord/kube";
import { Authority, siteFiles } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip, testedMinors } from "@fjord/testbed/testing";
import { ApiPodSource } from "../pod-source/api-pod-source.ts";
import { NodeStore } from "../store/node-store.ts";
import { ApiPodObjects } from "./api-pod-objects.ts";

// They wait for an API that is away, and do that together.
describe("a node cut off", { concurrency: true }, () => {
  for (const kubernetes of testedMinors()) {
    describe(`from Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes), concurrency: 1 }, () =>
      tests(kubernetes),
    );
  }
});

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let admin: KubeClient;
  let directory: string;
  let count = 0;
  const clock = systemClock;
  const logger = silentLogger;
  const nodeName = "edge";
  const request = { audience: "", expirationSeconds: 3607 };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "fjord-autonomy-"));
    site = await sharedTestSite({ kubernetes, components: "all" });
    admin = new KubeClient(site.config);
    await admin.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } });
  });
  after(async () => {
    await admin?.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function until<T>(what: string, condition: () => Promise<T | undefined | false>): Promise<T> {
    let last: unknown;
    for (const end = clock.now() + 60_000; ; await sleep(clock, 50)) {
      const result = await condition().catch((error: unknown) => {
        last = error;
        return undefined;
      });
      if (result) return result;
      assert.ok(clock.now() < end, `not within 60 s: ${what} (${last})`);
    }
  }

  /** One life of a node's process, with a node's rights and no more. */
  class Life implements AsyncDisposable {
    readonly source: ApiPodSource;
    readonly objects: ApiPodObjects;
    readonly client: KubeClient;
    readonly #stop = new AbortController();
    readonly #runs: Promise<void>[];

    constructor(client: KubeClient, store: NodeStore) {
      const random = seededRandom(++count);
      this.client = client;
      this.source = new ApiPodSource({ client, store, nodeName, storeAfterMs: 1_000, clock, random, logger });
      this.objects = new ApiPodObjects({ client, store, clock, random, logger });
      this.source.onChange((uid) => {
        const pod = this.source.get(uid);
        if (pod === undefined) this.objects.forget(uid);
        else this.objects.follow(pod);
      });
      this.#runs = [this.source.run(this.#stop.signal), this.objects.run(this.#stop.signal)];
    }

    async [Symbol.asyncDispose](): Promise<void> {
      this.#stop.abort();
      await Promise.all(this.#runs);
      await this.client.close();
    }
  }

  async function nodeClient(): Promise<KubeClient> {
    const ca = await Authority.load(siteFiles(site.site.layout).pki, "ca");
    const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
    const { certificate: cert, key } = await ca.issue(subject, clock.now());
    const config = clusterConfig({ server: site.config.server, ca: site.config.tls.ca, cert, key });
    return new KubeClient(config, { closeGraceMs: 500 });
  }

  async function newNamespace(): Promise<string> {
    const name = `test-${++count}`;
    await admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await until("the service account", async () => {
      const { statusCode } = await admin.raw("GET", `/api/v1/namespaces/${name}/serviceaccounts/default`);
      return statusCode === 200;
    });
    // Another controller's, which may be later.
    await until("the authority", () => admin.get(ConfigMap, { name: "kube-root-ca.crt", namespace: name }));
    return name;
  }

  async function createPod(namespace: string, name: string): Promise<Pod> {
    const spec = {
      nodeName,
      containers: [
        { name: "c", image: "i", env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "config", key: "k" } } }] },
      ],
      volumes: [{ name: "s", secret: { secretName: "secret" } }],
    };
    return admin.create(Pod, { apiVersion: "v1", kind: "Pod", metadata: { name, namespace }, spec });
  }

  async function look({ objects }: Life, namespace: string, pod: Pod) {
    return {
      config: (await objects.configMap(namespace, "config"))?.data?.k,
      secret: (await objects.secret(namespace, "secret"))?.data?.k,
      authority: (await objects.configMap(namespace, "kube-root-ca.crt"))?.data?.["ca.crt"]?.startsWith("-----BEGIN"),
      services: (await objects.services(namespace)).map(({ metadata }) => metadata.name).sort(),
      runtimeClass: (await objects.runtimeClass("small"))?.handler,
      token: (await objects.token(pod, request)).token,
    };
  }

  const names = (life: Life) => life.source.list().map(({ metadata }) => metadata.name);

  test("keeps pods and objects through an outage and a restart in it, and then takes over what happened", async () => {
    const namespace = await newNamespace();
    const apiVersion = "v1";
    const config = {
      apiVersion,
      kind: "ConfigMap",
      metadata: { name: "config", namespace },
      data: { k: "1" },
    } as const;
    await admin.create(ConfigMap, config);
    await admin.create(Secret, {
      apiVersion,
      kind: "Secret",
      metadata: { name: "secret", namespace },
      data: { k: "dg==" },
    });
    await admin.create(Service, {
      apiVersion,
      kind: "Service",
      metadata: { name: "web", namespace },
      spec: { ports: [{ port: 80 }] },
    });
    const classObject = {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "small" },
      handler: "h",
    } as const;
    await admin.create(RuntimeClass, classObject);
    using store = await NodeStore.open({ file: join(directory, "node.db"), clock, logger });
    const [stays] = await Promise.all(["stays", "goes", "again"].map((name) => createPod(namespace, name)));
    assert.ok(stays);
    const expected = await (async () => {
      await using first = new Life(await nodeClient(), store);
      await first.source.started();
      assert.deepEqual(names(first).sort(), ["again", "goes", "stays"]);
      for (const pod of first.source.list()) first.objects.follow(pod);
      const seen = await look(first, namespace, stays);
      assert.deepEqual(
        { ...seen, token: seen.token.split(".").length },
        { config: "1", secret: "dg==", authority: true, services: ["kubernetes", "web"], runtimeClass: "h", token: 3 },
      );
      await site.site.process("kube-apiserver").kill();
      await until("the outage to show", async () => !first.source.isConnected);
      assert.deepEqual(names(first).sort(), ["again", "goes", "stays"]);
      assert.deepEqual(await look(first, namespace, stays), seen);
      return seen;
    })();

    await using life = new Life(await nodeClient(), store);
    await life.source.started();
    assert.equal(life.source.isCurrent, false);
    assert.deepEqual(names(life).sort(), ["again", "goes", "stays"]);
    assert.deepEqual(await look(life, namespace, stays), expected);

    // The node stays cut off while the API is back for others: its client is of this process, so it is the API that
    // must not listen to it. Deleting before it reconnects is as good: the watch sees only the result.
    await site.site.start({ timeout: 60_000 });
    const now = { gracePeriodSeconds: 0 };
    await admin.delete(Pod, { name: "goes", namespace }, now);
    await admin.delete(Pod, { name: "again", namespace }, now);
    const again = await createPod(namespace, "again");
    await admin.update(ConfigMap, { ...config, data: { k: "2" } });
    await until("the states to meet", async () => {
      const uids = life.source.list().map(({ metadata }) => metadata.uid);
      return (
        life.source.isCurrent &&
        uids.length === 2 &&
        uids.includes(again.metadata.uid) &&
        uids.includes(stays.metadata.uid)
      );
    });
    await until("the new content", async () => (await life.objects.configMap(namespace, "config"))?.data?.k === "2");
    assert.equal((await life.objects.token(stays, request)).token, expected.token);
  });

  test("a pod deleted while the node was down is gone when it starts, with its secrets", async () => {
    const namespace = await newNamespace();
    const metadata = { name: "secret", namespace };
    await admin.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data: { k: "dg==" } });
    using store = await NodeStore.open({ file: join(directory, "down.db"), clock, logger });
    await createPod(namespace, "short");
    await (async () => {
      await using first = new Life(await nodeClient(), store);
      await first.source.started();
      await until("the secret in the store", async () => store.object({ kind: "Secret", namespace, name: "secret" }));
    })();
    await admin.delete(Pod, { name: "short", namespace }, { gracePeriodSeconds: 0 });
    await (async () => {
      await using second = new Life(await nodeClient(), store);
      await second.source.started();
      assert.ok(!names(second).includes("short"));
    })();
    await using _ = new Life(await nodeClient(), store);
    assert.equal(store.object({ kind: "Secret", namespace, name: "secret" }), undefined);
  });

  test("a frozen API server is as good as none", async () => {
    const namespace = await newNamespace();
    const metadata = { name: "config", namespace };
    await admin.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { k: "1" } });
    using store = await NodeStore.open({ file: join(directory, "frozen.db"), clock, logger });
    const pod = await createPod(namespace, "p");
    await (async () => {
      await using first = new Life(await nodeClient(), store);
      await first.source.started();
      await first.objects.token(pod, request);
      await until("the object in the store", async () =>
        store.object({ kind: "ConfigMap", namespace, name: "config" }),
      );
    })();
    const server = site.site.process("kube-apiserver");
    await server.pause();
    try {
      const begun = clock.now();
      await using life = new Life(await nodeClient(), store);
      await life.source.started();
      for (const each of life.source.list()) life.objects.follow(each);
      assert.ok(names(life).includes("p"));
      assert.equal((await life.objects.configMap(namespace, "config"))?.data?.k, "1");
      assert.equal((await life.objects.token(pod, request)).token.split(".").length, 3);
      assert.ok(clock.now() - begun < 10_000);
    } finally {
      await server.resume();
    }
  });
}
