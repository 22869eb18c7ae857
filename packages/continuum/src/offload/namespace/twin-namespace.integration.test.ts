import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL, newObject, TwinNamespace, tenantNamespace } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import {
  CustomResourceDefinition,
  EventRecorder,
  ifNotFound,
  isInvalid,
  KubeClient,
  Manager,
  Namespace,
  RoleBinding,
  SharedCaches,
} from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import type { Home } from "../../home.ts";
import { mortalClient } from "../../test-mortal-client.ts";
import { eventually } from "./test-eventually.ts";
import { TwinNamespaceController } from "./twin-namespace-controller.ts";

const CONSUMER = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const OTHER = "a".repeat(26);

describe("a provider's twin namespaces", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: TestSite;
  let client: KubeClient;
  let controller: { stop(): Promise<void> };
  const tenants = new Set<string>([CONSUMER]);
  const listeners = new Set<(consumer: string) => void>();

  /** The controller, in a process of its own as far as it can tell. */
  const start = (used = client) => {
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client: used });
    const recorder = new EventRecorder({ ...means, client: used, component: "test" });
    const identity = { id: OTHER, publicKey: "", sign: () => "" };
    const home: Home = { ...means, client: used, identity, caches, recorder, namespace: "fjord-system" };
    const part = new TwinNamespaceController({
      home,
      role: "view",
      labels: { "pod-security.kubernetes.io/enforce": "baseline" },
      tenants: {
        get: (consumer) =>
          tenants.has(consumer) ? { consumer, namespace: tenantNamespace(consumer), user: "" } : undefined,
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
    });
    const stop = new AbortController();
    const manager = new Manager({ ...means, gracePeriodMs: 0 });
    const run = manager.addCache(caches).add(part).run(stop.signal);
    return {
      stop: async () => {
        stop.abort();
        await run;
      },
    };
  };

  before(async () => {
    site = await startTestSite({ components: "all" });
    client = new KubeClient(site.config, { closeGraceMs: 1_000 });
    const definition = customResourceDefinitions().find(({ spec }) => spec.names.plural === "twinnamespaces");
    await client.apply(CustomResourceDefinition, definition as CustomResourceDefinition, { fieldManager: "test" });
    for (const consumer of [CONSUMER, OTHER])
      await client.create(Namespace, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: tenantNamespace(consumer) },
      });
    await eventually(async () => (await client.list(TwinNamespace)).items.length === 0);
    controller = start();
  });

  after(async () => {
    await controller?.stop();
    await client?.close();
    await site?.stop();
  });

  const ask = (origin: string, wantedName = `${origin}-${CONSUMER}`, consumer = CONSUMER, metadata: object = {}) =>
    client.create(
      TwinNamespace,
      newObject(TwinNamespace, {
        metadata: { name: origin, namespace: tenantNamespace(consumer), ...metadata },
        spec: { originNamespace: origin, wantedName },
      }),
    );
  const request = (origin: string, consumer = CONSUMER) =>
    client.get(TwinNamespace, { name: origin, namespace: tenantNamespace(consumer) }).catch(ifNotFound);
  const twin = (name: string) => client.get(Namespace, { name }).catch(ifNotFound);
  const reason = async (origin: string, consumer = CONSUMER) =>
    (await request(origin, consumer))?.status?.conditions?.[0]?.reason;
  const giveBack = (origin: string) =>
    client.delete(TwinNamespace, { name: origin, namespace: tenantNamespace(CONSUMER) });

  it("are made with what the owner adds, and the consumer's role, which is put back", async () => {
    await ask("shop");
    await eventually(async () => (await reason("shop")) === "NamespaceMade");
    const name = `shop-${CONSUMER}`;
    const labels = (await twin(name))?.metadata.labels ?? {};
    assert.equal(labels["pod-security.kubernetes.io/enforce"], "baseline");
    assert.equal(labels[CONSUMER_LABEL], CONSUMER);
    const key = { name: "fjord-tenant", namespace: name };
    const subjects = async () =>
      (await client.get(RoleBinding, key).catch(ifNotFound))?.subjects?.map((each) => each.name);
    await eventually(async () => (await subjects())?.join() === "consumer");
    await client.delete(RoleBinding, key);
    await eventually(async () => (await subjects())?.join() === "consumer");
    const mallory = { kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" };
    await client.patch(RoleBinding, key, "merge", { subjects: [mallory] });
    await eventually(async () => (await subjects())?.join() === "consumer");
  });

  it("are never somebody else's, whatever a consumer asks for", async () => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "owners" } });
    await ask("a", "owners");
    await ask("b", "kube-system");
    await ask("c", `shop-${OTHER}`);
    // Another consumer's twin, by its very name.
    await ask("d", `shop-${CONSUMER}`, OTHER);
    await eventually(async () => (await reason("a")) === "NameTaken");
    await eventually(async () => (await reason("b")) === "NameRefused");
    await eventually(async () => (await reason("c")) === "NameRefused");
    await eventually(async () => (await reason("d", OTHER)) === "ContractNotActive");
    await assert.rejects(ask("e", "../kube-system"), isInvalid);
    await assert.rejects(ask("f", "x".repeat(64)), isInvalid);
    const tricks = { labels: { [CONSUMER_LABEL]: OTHER, "fjord.dev/origin-namespace": "x" } };
    await ask("g", `g-${CONSUMER}`, CONSUMER, tricks);
    await eventually(async () => (await reason("g")) === "NamespaceMade");
    assert.equal((await twin(`g-${CONSUMER}`))?.metadata.labels?.[CONSUMER_LABEL], CONSUMER);
    for (const each of ["a", "b", "c"]) await giveBack(each);
    for (const each of ["a", "b", "c"]) await eventually(async () => (await request(each)) === undefined);
    for (const each of ["owners", "kube-system"])
      assert.equal((await twin(each))?.metadata.deletionTimestamp, undefined, each);
  });

  it("are not left behind when they are given back before they were seen", async () => {
    const names = Array.from({ length: 4 }, (_, index) => `quick-${index}`);
    await Promise.all(
      names.map(async (name) => {
        await ask(name);
        await eventually(async () => (await twin(`${name}-${CONSUMER}`)) !== undefined);
        await giveBack(name);
      }),
    );
    for (const name of names) await eventually(async () => (await request(name)) === undefined, 60_000);
    for (const name of names) assert.equal(await twin(`${name}-${CONSUMER}`), undefined);
  });

  it("come and go whenever the provider's agent dies", async () => {
    await controller.stop();
    // Each process dies after as many writes: making a twin takes four, removing it three.
    for (const lives of [1, 2]) {
      const origin = `mortal-${lives}`;
      await ask(origin);
      await dieUntil(lives, async () => (await reason(origin)) === "NamespaceMade");
      await giveBack(origin);
      await dieUntil(lives, async () => (await request(origin)) === undefined);
      assert.equal(await twin(`${origin}-${CONSUMER}`), undefined);
    }
    controller = start();
  });

  const dieUntil = async (writes: number, holds: () => Promise<boolean>) => {
    for (let life = 0; life < 10; life++) {
      const mortal = mortalClient(client, writes);
      const running = start(mortal.client);
      const fine = eventually(holds).then(() => true);
      const isFine = await Promise.race([fine, mortal.died.then(() => false)]);
      await running.stop();
      if (isFine) return;
      fine.catch(() => {});
    }
    await eventually(holds, 1_000);
  };
});
