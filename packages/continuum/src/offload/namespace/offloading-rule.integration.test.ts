import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newObject, OFFLOADED_LABEL, OFFLOADING_RULE_LABEL, Offloading, OffloadingRule, Site } from "@fjord/api";
import type { Condition } from "@fjord/base";
import { ifNotFound, KubeClient, Namespace } from "@fjord/kube";
import { startSiteAgent } from "@fjord/testbed/agents";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { eventually } from "./test-eventually.ts";

describe("an OffloadingRule", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let site: TestSite;
  let client: KubeClient;

  before(async () => {
    site = await startTestSite();
    await startSiteAgent(site.site);
    client = new KubeClient(site.config, { closeGraceMs: 1_000 });
  });

  after(async () => {
    await client?.close();
    await site?.stop();
  });

  const addNamespace = (name: string, labels: Record<string, string> = {}) =>
    client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  const addRule = (name: string, spec: Parameters<typeof newObject<typeof OffloadingRule>>[1]["spec"]) =>
    client.create(OffloadingRule, newObject(OffloadingRule, { metadata: { name }, spec }));
  const get = async (namespace: string): Promise<Offloading | undefined> => {
    return await client.get(Offloading, { name: "offloading", namespace }).catch(ifNotFound);
  };
  const rule = async (namespace: string) => (await get(namespace))?.metadata.labels?.[OFFLOADING_RULE_LABEL];
  const counts = async (name: string) => {
    const { status } = await client.get(OffloadingRule, { name });
    return [status?.matched, status?.offloaded, status?.conditions?.[0]?.reason];
  };
  const becomes = (name: string, ...wanted: unknown[]) =>
    eventually(async () => JSON.stringify(await counts(name)) === JSON.stringify(wanted));

  it("extends what is there and what comes later, and leaves a namespace's own Offloading alone", async () => {
    await addNamespace("early", { team: "shop" });
    await addNamespace("own", { team: "shop" });
    await client.create(
      Offloading,
      newObject(Offloading, { metadata: { name: "offloading", namespace: "own" }, spec: { pods: "Local" } }),
    );
    await addRule("shops", { namespaceSelector: { matchLabels: { team: "shop" } }, template: { pods: "Remote" } });
    await eventually(async () => (await rule("early")) === "shops");
    const { metadata } = await addNamespace("later", { team: "shop" });
    assert.equal(metadata.labels?.[OFFLOADED_LABEL], "true", "it is labelled in the moment it is made");
    await eventually(async () => (await rule("later")) === "shops");
    assert.equal((await get("early"))?.spec.pods, "Remote");
    assert.equal((await get("own"))?.spec.pods, "Local");
    assert.equal(await rule("own"), undefined);
    await becomes("shops", 3, 2, "Applied");
  });

  it("is not about namespaces of the system, of the agent and of other sites", async () => {
    await addNamespace("guest", { "fjord.dev/consumer": "a".repeat(26), team: "none" });
    await addNamespace("fjord-tenant-x");
    await addRule("z-all", { namespaceSelector: {}, template: {} });
    await eventually(async () => (await rule("default")) === "z-all");
    for (const each of ["kube-system", "kube-public", "kube-node-lease", "fjord-system", "fjord-tenant-x", "guest"])
      assert.equal(await get(each), undefined, each);
    assert.equal(await rule("early"), "shops", "of several that match, the first by name");
    await client.delete(OffloadingRule, { name: "z-all" });
    await eventually(async () => (await get("default")) === undefined);
    await eventually(async () => {
      const { metadata } = await client.get(Namespace, { name: "default" });
      return metadata.labels?.[OFFLOADED_LABEL] === undefined;
    });
  });

  it("is followed by its Offloadings when it changes", async () => {
    const { metadata } = (await get("early")) ?? {};
    const template = { pods: "Both", sites: { matchLabels: { zone: "a" } } };
    await client.patch(OffloadingRule, { name: "shops" }, "merge", { spec: { template } });
    await eventually(async () => (await get("early"))?.spec.sites.matchLabels?.zone === "a");
    assert.equal((await get("early"))?.metadata.uid, metadata?.uid, "the same one");
    await client.patch(OffloadingRule, { name: "shops" }, "merge", { spec: { template: { sites: null } } });
    await eventually(async () => (await get("early"))?.spec.sites.matchLabels === undefined);
    // A twin cannot be renamed: the Offloading is made again.
    await client.patch(OffloadingRule, { name: "shops" }, "merge", {
      spec: { template: { naming: { strategy: "Same" } } },
    });
    await eventually(async () => (await get("early"))?.spec.naming.strategy === "Same");
    assert.notEqual((await get("early"))?.metadata.uid, metadata?.uid);
  });

  it("keeps its Offloadings as it says, unless somebody makes one the namespace's own", async () => {
    const key = { name: "offloading", namespace: "early" };
    await client.patch(Offloading, key, "merge", { spec: { pods: "Local" } });
    await eventually(async () => (await get("early"))?.spec.pods === "Both");
    await client.patch(Offloading, key, "merge", {
      metadata: { labels: { [OFFLOADING_RULE_LABEL]: null } },
      spec: { pods: "Local" },
    });
    await becomes("shops", 3, 1, "Applied");
    await eventually(async () => ((await get("early"))?.metadata.ownerReferences ?? []).length === 0);
    assert.equal((await get("early"))?.spec.pods, "Local");
  });

  it("follows the labels of namespaces", async () => {
    await client.patch(Namespace, { name: "later" }, "merge", { metadata: { labels: { team: null } } });
    await eventually(async () => (await get("later")) === undefined);
    await becomes("shops", 2, 0, "Applied");
    await client.patch(Namespace, { name: "later" }, "merge", { metadata: { labels: { team: "shop" } } });
    await eventually(async () => (await rule("later")) === "shops");
  });

  it("is refused with a rule of reflection that would hold nothing back, as an Offloading is", async () => {
    const secret = { resource: "secret", policy: "Never" } as const;
    const boats = { group: "example.com", resource: "boats", policy: "Never" } as const;
    const offloading = (...reflection: (typeof secret | typeof boats)[]) =>
      client.create(
        Offloading,
        newObject(Offloading, { metadata: { name: "offloading", namespace: "ruled" }, spec: { reflection } }),
      );
    const namespaceSelector = { matchLabels: { team: "boats" } };
    const own = async () => (await client.list(Site)).items.find(({ status }) => status?.role === "Self");
    const list = async (...reflection: object[]) =>
      client.patch(Site, { name: (await own())?.metadata.name ?? "" }, "merge", { spec: { reflection } });
    await addNamespace("ruled");
    await assert.rejects(offloading(secret), /spec\.reflection\[0\] has no effect: .*did you mean secrets\?/);
    const template = { reflection: [secret] };
    await assert.rejects(
      addRule("boats", { namespaceSelector, template }),
      /spec\.template\.reflection\[0\].*secrets\?/,
    );
    await assert.rejects(offloading(boats), /the own Site lists no boats\.example\.com\. List it in spec\.reflection/);
    await list(boats);
    await offloading(boats);
    await addRule("boats", { namespaceSelector, template: { reflection: [boats] } });
    const heeded = async () => {
      const objects = [await get("ruled"), await client.get(OffloadingRule, { name: "boats" }), await own()];
      return objects.map((each) => {
        const conditions: readonly Condition[] = each?.status?.conditions ?? [];
        return conditions.find(({ type }) => type === "RulesHeeded")?.status;
      });
    };
    const come = (...wanted: string[]) =>
      eventually(async () => JSON.stringify(await heeded()) === JSON.stringify(wanted));
    await come("True", "True", "True");
    // As where they were written while no agent answered.
    await list(secret);
    await come("False", "False", "False");
    await client.patch(Offloading, { name: "offloading", namespace: "ruled" }, "merge", { spec: { pods: "Local" } });
    await list();
    await come("False", "False", "True");
    await client.delete(Offloading, { name: "offloading", namespace: "ruled" });
    await client.delete(OffloadingRule, { name: "boats" });
    await eventually(async () => (await get("ruled")) === undefined);
  });

  it("leaves nothing behind but what is not its own", async () => {
    await client.delete(OffloadingRule, { name: "shops" });
    await eventually(async () => (await get("later")) === undefined);
    assert.ok(await get("own"));
    assert.ok(await get("early"));
  });
});
