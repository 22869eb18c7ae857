import assert from "node:assert/strict";
import { once } from "node:events";
import { Writable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CONSUMER_LABEL, newObject, ShadowPod, TwinNamespace } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import {
  ConfigMap,
  isForbidden,
  isTooManyRequests,
  type KubeClient,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { JumpingClock } from "../../test-jumping-clock.ts";
import { tenantOf } from "../tenant/tenant-forge.ts";
import type { AcceptedWrite } from "./kube-proxy.ts";
import { StoredObjects } from "./stored-objects.ts";
import { objectPolicy, TenantObjects } from "./tenant-objects.ts";
import { startTestKubelet, type TestKubelet } from "./test-kubelet.ts";
import { type TestConsumer, TestProvider } from "./test-provider.ts";

/** Bytes. */
const LITTLE = 400_000;

describe("the Kubernetes API for tenants", { skip: kubernetesSkip() }, () => {
  let bed: SharedTestSite;
  let provider: TestProvider;
  let kubelet: TestKubelet;
  const written: AcceptedWrite[] = [];

  before(async () => {
    bed = await sharedTestSite();
    provider = await TestProvider.start(bed.site, { onWritten: (write) => void written.push(write) });
    kubelet = await startTestKubelet(provider.client, provider.twinOf(provider.consumer));
  });
  after(async () => {
    await kubelet?.stop();
    await provider?.[Symbol.asyncDispose]();
  });

  for (const way of ["dialled", "tunnelled"] as const) {
    describe(way, () => {
      let consumer: TestConsumer;
      let kube: KubeClient;
      before(async () => {
        consumer = await provider.consume(way);
        kube = consumer.remote.kube;
      });
      after(() => consumer[Symbol.asyncDispose]());

      test("a consumer makes, reads, changes and deletes what is its own", async () => {
        const namespace = provider.twinOf(provider.consumer);
        const metadata = { name: `mine-${way}`, namespace, labels: { [CONSUMER_LABEL]: provider.consumer.id } };
        await kube.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } });
        await kube.patch(ConfigMap, metadata, "merge", { data: { a: "2" } });
        await kube.apply(
          ConfigMap,
          { apiVersion: "v1", kind: "ConfigMap", metadata, data: { b: "3" } },
          { fieldManager: "fjord-test" },
        );
        assert.deepEqual((await kube.get(ConfigMap, metadata)).data, { a: "2", b: "3" });
        await kube.delete(ConfigMap, metadata);
        const { items } = await kube.list(ConfigMap, { namespace });
        assert.ok(!items.some(({ metadata: { name } }) => name === metadata.name));
      });

      test("it asks for twins of its namespaces in its tenant namespace", async () => {
        const { namespace } = provider.tenants.get(provider.consumer.id) ?? { namespace: "" };
        const twin = newObject(TwinNamespace, {
          metadata: { name: way, namespace },
          spec: { originNamespace: way, wantedName: `${way}-twin` },
        });
        await kube.create(TwinNamespace, twin);
        assert.equal((await kube.list(TwinNamespace, { namespace })).items[0]?.metadata.name, way);
        await kube.delete(TwinNamespace, { name: way, namespace });
      });

      test("it lists and watches all of its namespaces at once, and nobody else's", async () => {
        const { items } = await kube.list(Secret);
        assert.deepEqual(
          items.map(({ metadata }) => metadata.namespace),
          [provider.twinOf(provider.consumer)],
        );
        const stop = new AbortController();
        const seen: string[] = [];
        const ended = (async () => {
          for await (const { type, object } of kube.watch(ConfigMap, { signal: stop.signal })) {
            if (type === "BOOKMARK" || !("data" in object)) continue;
            seen.push(`${type} ${object.metadata.namespace}/${object.metadata.name}`);
            if (object.metadata.name === `last-${way}`) stop.abort();
          }
        })().catch((error) => {
          if (!stop.signal.aborted) throw error;
        });
        for (const [site, name] of [
          [provider.rival, `rivals-${way}`],
          [provider.consumer, `last-${way}`],
        ] as const) {
          const labels = { [CONSUMER_LABEL]: site.id };
          const metadata = { name, namespace: provider.twinOf(site), labels };
          await provider.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } });
        }
        await ended;
        assert.ok(seen.includes(`ADDED ${provider.twinOf(provider.consumer)}/last-${way}`));
        assert.ok(!seen.some((each) => each.includes(provider.rival.id)), seen.join());
      });

      test("an accepted shadow pod is told of at once, with the server's answer", async () => {
        const namespace = provider.twinOf(provider.consumer);
        const spec = {
          contract: "c-1",
          originUid: "u-1",
          pod: { spec: { containers: [{ name: "web", image: "web" }] } },
        };
        const shadow = newObject(ShadowPod, { metadata: { name: `web-${way}`, namespace }, spec });
        const created = await kube.create(ShadowPod, shadow);
        const { consumer: by, verb, body } = written.at(-1) as AcceptedWrite;
        assert.deepEqual([by, verb], [provider.consumer.id, "create"]);
        assert.equal(JSON.parse(body.toString()).metadata.uid, created.metadata.uid);
        const before = written.length;
        await assert.rejects(kube.create(ShadowPod, shadow));
        assert.equal(written.length, before);
      });

      test("logs, exec and port-forward reach its pod", async () => {
        const key = { name: "web", namespace: provider.twinOf(provider.consumer) };
        let log = "";
        for await (const chunk of kube.log(key)) log += chunk;
        assert.equal(log, "a line of web\n");
        let output = "";
        const stdout = new Writable({
          write(chunk, _encoding, done) {
            output += chunk;
            done();
          },
        });
        const { exitCode } = await kube.exec(key, { command: ["say", "hello"], stdout });
        assert.deepEqual([exitCode, output], [3, "say hello\n"]);
        const socket = await kube.portForward(key, { port: 8080 });
        socket.write("ping");
        const [answer] = (await once(socket, "data")) as [Buffer];
        assert.equal(answer.toString(), "ping to 8080");
        socket.destroy();
      });

      test("commands and forwarded ports that have ended count no more", async () => {
        const key = { name: "web", namespace: provider.twinOf(provider.consumer) };
        // Those before it may end only now.
        const began = Date.now();
        await kube.exec(key, { command: ["say", "hello"] });
        await kube.attach(key, {});
        (await kube.portForward(key, { port: 8080 })).destroy();
        const ended = () =>
          provider.lines
            .filter(({ time }) => time >= began)
            .map(({ path }) => path.split("/").at(-1) ?? "")
            .filter((name) => ["exec", "attach", "portforward"].includes(name));
        for (let tries = 0; ended().length < 3 && tries < 60; tries++) await sleep(50);
        assert.deepEqual(ended().sort(), ["attach", "exec", "portforward"]);
      });

      test("a refusal of the API server comes back as it is", async () => {
        const namespace = provider.twinOf(provider.consumer);
        await assert.rejects(kube.get(Pod, { name: "nobody", namespace }), /NotFound/);
        await assert.rejects(kube.get(Secret, { name: "treasure", namespace: "default" }), isForbidden);
      });

      test("the end of the contract ends a watch at once, and nothing is served until there is another", async () => {
        const watching = (async () => {
          for await (const _ of kube.watch(Pod)) provider.tenants.set(provider.consumer.id, false);
        })();
        await assert.rejects(watching);
        const namespace = provider.twinOf(provider.consumer);
        await assert.rejects(kube.list(Pod, { namespace }), isForbidden);
        provider.tenants.set(provider.consumer.id, true);
        assert.equal((await kube.list(Pod, { namespace })).items.length, 1);
      });
    });
  }

  for (const way of ["dialled", "tunnelled"] as const) {
    test(`certificates of both sides are renewed without the end of a watch, ${way}`, async () => {
      await using renewing = await TestProvider.start(bed.site, {}, { lifetimeMs: 1_500 });
      await using consumer = await renewing.consume(way);
      const { kube } = consumer.remote;
      const namespace = renewing.twinOf(renewing.consumer);
      const sides = [renewing.site.tls, renewing.consumer.tls];
      const make = (name: string) =>
        renewing.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } });
      const { metadata } = await kube.list(ConfigMap, { namespace });
      const from = { namespace, resourceVersion: metadata.resourceVersion ?? "" };
      await make("generation-0");
      const watched: string[] = [];
      // Of one watch: where it ends, so does the loop.
      for await (const { object, type } of kube.watch(ConfigMap, from)) {
        if (type !== "ADDED") continue;
        watched.push(object.metadata.name ?? "");
        if (watched.length === 4) break;
        const before = sides.map(({ certificate }) => certificate);
        while (sides.some(({ certificate }) => before.includes(certificate)))
          await new Promise((resolve) => setTimeout(resolve, 50));
        await make(`generation-${watched.length}`);
      }
      assert.deepEqual(watched, ["generation-0", "generation-1", "generation-2", "generation-3"]);
      // By a connection of its own, which is made with the new ones.
      assert.ok((await kube.list(ConfigMap, { namespace })).items.length > 4);
    });
  }

  test("each request leaves a line that says who did what", async () => {
    const { id } = provider.consumer;
    const line = provider.lines.find(({ verb, path }) => verb === "create" && path.endsWith("/shadowpods"));
    assert.equal(line?.consumer, id);
    assert.equal(line?.status, 201);
    assert.ok((line?.bytesIn ?? 0) > 100 && (line?.bytesOut ?? 0) > 100, JSON.stringify(line));
    const refused = provider.lines.find(({ path }) => path.includes("/default/secrets"));
    assert.deepEqual([refused?.status, refused?.refusedBy], [403, "proxy"]);
  });

  test("too many requests, streams or bytes of a tenant are told to wait", async () => {
    const limits = { requestsPerSecond: 0.001, burst: 4, streams: 1, bodyBytes: 1000 };
    await using limited = await TestProvider.start(bed.site, { limits });
    await using consumer = await limited.consume("dialled", { kube: { tooManyRequestsBudgetMs: 0 } });
    const { kube } = consumer.remote;
    const metadata = { name: "big", namespace: limited.twinOf(limited.consumer) };
    const big = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "x".repeat(1000) } } as const;
    await assert.rejects(kube.create(ConfigMap, big), /larger than 1000 bytes/);
    const stop = new AbortController();
    const opened = Promise.withResolvers<void>();
    const watching = (async () => {
      for await (const _ of kube.watch(Secret, { signal: stop.signal })) opened.resolve();
    })().catch(() => {});
    await opened.promise;
    await assert.rejects(async () => {
      for await (const _ of kube.watch(Secret)) assert.fail("a second stream was given");
    }, isTooManyRequests);
    await kube.list(Secret);
    await assert.rejects(kube.list(Secret), isTooManyRequests);
    stop.abort();
    await watching;
  });

  test("a consumer that has as much as it may keep is told so, and has room again for what goes", async () => {
    let policy = {
      ...objectPolicy(undefined),
      objects: 1_000,
      bytes: 2 ** 28,
      namespaces: 3,
      storage: 3,
      exposedServices: 2,
      exposedPorts: 5,
    };
    const namespacesOf = () => [full.twinOf(full.consumer)];
    const stored = new StoredObjects({ client: provider.client, namespacesOf, customResources: () => [] });
    const clock = new JumpingClock();
    const objects = new TenantObjects({ policy: () => policy, stored, clock, logger: silentLogger });
    await using full = await TestProvider.start(bed.site, { objects });
    await using consumer = await full.consume("dialled");
    const { kube } = consumer.remote;
    const { id } = full.consumer;
    const config = (name: string, text = "") => {
      const metadata = { name, namespace: full.twinOf(full.consumer) };
      return kube.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } });
    };
    const succeeded = async (asked: Promise<unknown>[]) => {
      const results = await Promise.allSettled(asked);
      for (const result of results)
        if (result.status === "rejected") assert.match(result.reason.message, /quota exceeded/);
      return results.filter(({ status }) => status === "fulfilled").length;
    };
    const { namespace } = tenantOf(id);
    const twins = Array.from({ length: 20 }, (_, index) => {
      const name = `ns-${index}`;
      const spec = { originNamespace: name, wantedName: `${name}-twin` };
      return kube.create(TwinNamespace, newObject(TwinNamespace, { metadata: { name, namespace }, spec }));
    });
    assert.equal(await succeeded(twins), 3);
    await config("first");
    policy = { ...policy, objects: (await stored.twins(id)).size + 2 };
    clock.jump(10_000);
    assert.equal(await succeeded(Array.from({ length: 10 }, (_, index) => config(`many-${index}`))), 2);
    const [gone] = (await kube.list(ConfigMap, { namespace: namespacesOf()[0] ?? "" })).items.filter(({ metadata }) =>
      metadata.name?.startsWith("many-"),
    );
    // By the owner of the site, past the proxy.
    await provider.client.delete(ConfigMap, { name: gone?.metadata.name ?? "", namespace: namespacesOf()[0] ?? "" });
    clock.jump(10_000);
    await config("in-its-place");
    const place = { namespace: namespacesOf()[0] ?? "" };
    const service = (name: string, type: "NodePort" | "ClusterIP") => {
      const spec = { type, ports: [{ port: 80 }] };
      return kube.create(Service, { apiVersion: "v1", kind: "Service", metadata: { name, ...place }, spec });
    };
    const claim = (name: string, storage: string, by = kube) => {
      const spec = { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage } } };
      const metadata = { name, ...place };
      return by.create(PersistentVolumeClaim, {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata,
        spec,
      });
    };
    policy = { ...policy, objects: 1_000 };
    const exposed = ["s1", "s2", "s3", "s4"].map((name) => service(name, "NodePort"));
    assert.equal(await succeeded(exposed), 2);
    await service("inner", "ClusterIP");
    const opened = { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } };
    const inner = { name: "inner", ...place };
    await assert.rejects(kube.patch(Service, inner, "merge", opened), /Services of type NodePort or LoadBalancer/);
    const [first] = (await kube.list(Service, place)).items.filter(({ spec }) => spec?.type === "NodePort");
    await kube.patch(Service, { name: first?.metadata.name ?? "", ...place }, "merge", { spec: { type: "ClusterIP" } });
    const many = Array.from({ length: 5 }, (_, index) => ({ name: `p${index}`, port: 80 + index }));
    const [wide, allowed] = [many, many.slice(1)].map((ports) => ({ spec: { type: "LoadBalancer", ports } }));
    clock.jump(10_000);
    await assert.rejects(kube.patch(Service, inner, "merge", wide), /with 1 ports of at most 5/);
    await kube.patch(Service, inner, "merge", allowed);
    assert.equal((await stored.exposedServices(id)).get(`services/${place.namespace}/inner`), 4);
    assert.equal(await succeeded(["c1", "c2", "c3", "c4"].map((name) => claim(name, "1"))), 3);
    await assert.rejects(claim("c5", "1Gi"), /claims of 1Mi at the provider, and may have 1Mi/);
    const bringing = (name: string, storage: string) => {
      const template = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } } };
      const volumes = [{ name: "scratch", ephemeral: { volumeClaimTemplate: template } }];
      const containers = [{ name: "web", image: "web" }];
      const pod = { spec: { containers, volumes } };
      const spec = { contract: "c-1", originUid: name, recreate: "Never" as const, pod };
      return kube.create(ShadowPod, newObject(ShadowPod, { metadata: { name, ...place }, spec }));
    };
    await assert.rejects(bringing("p1", "1"), /claims of 1Mi at the provider/);
    policy = { ...policy, storage: 2 ** 31 };
    await bringing("p1", "1Gi");
    // As Kubernetes makes it for the pod.
    await claim("p1-scratch", "1Gi", provider.client);
    policy = { ...policy, storage: 3 * 2 ** 30 };
    clock.jump(10_000);
    await assert.rejects(bringing("p2", "3Gi"), /claims of/);
    assert.equal(
      (await stored.claims(id)).values().reduce((sum, bytes) => sum + bytes, 0),
      2 ** 30 + 3,
      "a claim is counted once",
    );
    await kube.delete(ShadowPod, { name: "p1", ...place });
    assert.equal(
      (await stored.claims(id)).values().reduce((sum, bytes) => sum + bytes, 0),
      2 ** 30 + 3,
      "it is there until its pod has gone",
    );
    policy = { ...policy, objects: 1_000, bytes: 200_000 };
    assert.equal(await succeeded(["a", "b", "c"].map((name) => config(name, "x".repeat(60_000)))), 3);
    await assert.rejects(config("d", "x".repeat(60_000)), isForbidden);
    await kube.patch(ConfigMap, { name: "a", namespace: namespacesOf()[0] ?? "" }, "merge", { data: { text: "" } });
    await config("d", "x".repeat(50_000));
  });

  test("what a consumer keeps is measured whole, whatever it asks to see of it and calls a trial", async () => {
    await using sly = await slyConsumer();
    const { twin, ask } = sly;
    const maps = `/kube/api/v1/namespaces/${twin}/configmaps`;
    const data = { text: "x".repeat(60_000) };
    const post = (name: string, accept: string, query: string) =>
      ask(`POST ${maps}${query}`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }, accept);
    const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    const tricks = [
      ["partial", partial, ""],
      ["table", table, ""],
      ["protobuf", "application/vnd.kubernetes.protobuf", ""],
      ["trial", "application/json", "?dryRun="],
    ] as const;
    for (const [trick, accept, query] of tricks)
      for (let index = 0; index < 10; index++) await post(`${trick}-${index}`, accept, query);
    const kept = await sly.kept();
    assert.ok(kept > 300_000 && kept <= LITTLE, `${kept} bytes are kept`);
  });

  for (const trick of ["as a trial", "where there is none"])
    test(`what a consumer keeps is measured whole, though it deletes it ${trick}`, async () => {
      await using sly = await slyConsumer();
      const { twin, ask } = sly;
      const paths = `namespaces/${twin}/networkpolicies`;
      const trial = { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] };
      for (let index = 0; index < 10; index++) {
        const metadata = { name: `p${index}`, annotations: { text: "x".repeat(60_000) } };
        const object = {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata,
          spec: { podSelector: {} },
        };
        await ask(`POST /kube/apis/networking.k8s.io/v1/${paths}`, object);
        const version = trick === "as a trial" ? "v1" : "v99";
        await ask(`DELETE /kube/apis/networking.k8s.io/${version}/${paths}/p${index}`, version === "v1" ? trial : {});
      }
      const kept = await sly.kept();
      assert.ok(kept > 100_000 && kept <= LITTLE / 2, `${kept} bytes are kept`);
    });

  /** A consumer that may keep little, and says what it likes over connections of its own. */
  async function slyConsumer() {
    const policy = { ...objectPolicy(undefined), objects: 1_000, bytes: LITTLE, namespaces: 3 };
    const stored = new StoredObjects({
      client: provider.client,
      namespacesOf: () => [twin],
      customResources: () => [],
    });
    const means = { clock: new JumpingClock(), logger: silentLogger };
    const sly = await TestProvider.start(bed.site, {
      objects: new TenantObjects({ ...means, policy: () => policy, stored }),
    });
    const twin = sly.twinOf(sly.consumer);
    const ask = async (line: string, object: unknown, accept = "application/json") => {
      const socket = await sly.consumer.tls.connect(sly.endpoint, sly.site.id);
      const body = JSON.stringify(object);
      socket.write(
        `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept: ${accept}\r\n` +
          `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
    };
    const kept = async () => (await stored.twins(sly.consumer.id)).values().reduce((sum, bytes) => sum + bytes, 0);
    return { twin, ask, kept, [Symbol.asyncDispose]: () => sly[Symbol.asyncDispose]() };
  }
});
