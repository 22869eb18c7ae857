import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AGENT_NAMESPACE, newObject, Site } from "@fjord/api";
import { silentLogger } from "@fjord/base";
import { KeyStore } from "@fjord/continuum/identity";
import { KubeClient } from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { installObjects } from "./installation/install-objects.ts";
import { manifests } from "./installation/manifests.ts";
import { OwnSiteObject, type OwnSiteObjectOptions } from "./own-site-object.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const other = "abxw6ytboi2dcmrtgq2tmnzyhe";

describe("the own Site", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let site: TestSite;
  let client: KubeClient;

  before(async () => {
    site = await startTestSite();
    client = new KubeClient(site.config);
    await installObjects(client, manifests({ namespace: AGENT_NAMESPACE }), {
      signal: AbortSignal.timeout(120_000),
      told: () => {},
    });
  });
  after(async () => {
    await client?.close();
    await site?.stop();
  });

  const names = async () => (await client.list(Site)).items.map(({ metadata }) => metadata.name).sort();
  const own = { id, endpoints: ["https://wave.example:7443"] };
  const ensure = (options: Pick<OwnSiteObjectOptions, "name"> & Partial<OwnSiteObjectOptions>) =>
    new OwnSiteObject({ client, logger: silentLogger, namespace: AGENT_NAMESPACE, ...own, ...options }).ensure();

  it("moves to its new name with all that its owner said of it, and leaves nothing under the old one", async () => {
    await ensure({ name: "old" });
    const sharing = { resources: { cpu: "2" } };
    await client.patch(Site, { name: "old" }, "merge", { spec: { sharing, tier: "edge" } });
    await client.create(Site, newObject(Site, { metadata: { name: "peer" }, spec: { id: other } }));

    await ensure({ name: "new", formerName: "old" });
    assert.deepEqual(await names(), ["new", "peer"]);
    const { spec } = await client.get(Site, { name: "new" });
    assert.deepEqual([spec.sharing?.resources, spec.tier, spec.endpoints], [sharing.resources, "edge", own.endpoints]);
  });

  it("is found where the process that renamed it has died in between", async () => {
    await client.patch(Site, { name: "new" }, "merge", { status: { role: "Self", id } }, { subresource: "status" });
    await client.patch(
      Site,
      { name: "peer" },
      "merge",
      { status: { role: "Peer", id: other } },
      { subresource: "status" },
    );
    await ensure({ name: "newer" });
    assert.deepEqual(await names(), ["newer", "peer"]);
    assert.equal((await client.get(Site, { name: "newer" })).spec.tier, "edge");
  });

  it("never takes a peer's for its own, whatever name it had", async () => {
    await ensure({ name: "newer", formerName: "peer" });
    assert.deepEqual(await names(), ["newer", "peer"]);
  });

  const patch = (name: string, spec: Partial<Site["spec"]>) => client.patch(Site, { name }, "merge", { spec });
  const said = async (name: string) => {
    const { spec } = await client.get(Site, { name });
    return [spec.endpoints, spec.tier];
  };

  it("keeps what its owner wrote there, has the rest right, and says so once", async () => {
    const [first, later, owners] = ["one", "two", "owner"].map((host) => [`https://${host}.example:7443`]);
    await ensure({ name: "newer", endpoints: first as string[], tier: "edge" });
    await patch("newer", { endpoints: owners as string[], tier: "edge" });
    const told: unknown[] = [];
    const logger = { ...silentLogger, info: (_: string, about?: object) => void told.push(about) };
    const started = new OwnSiteObject({
      client,
      logger,
      namespace: AGENT_NAMESPACE,
      id,
      name: "newer",
      endpoints: later as string[],
      tier: "edge",
    });
    await started.ensure();
    await started.ensure();
    assert.deepEqual(await said("newer"), [owners, "edge"]);
    assert.deepEqual(told, [{ site: "newer", fields: ["endpoints"] }]);
    await patch("newer", { tier: "device" });
    await ensure({ name: "newer", endpoints: later as string[], tier: "cloud" });
    assert.deepEqual(await said("newer"), [owners, "device"]);

    await client.patch(Site, { name: "newer" }, "merge", { spec: { endpoints: null } });
    await ensure({ name: "newer", endpoints: later as string[], tier: "cloud" });
    assert.deepEqual(await said("newer"), [later, "device"], "who takes their word back has the agent's");
  });

  it("is moved and dialled elsewhere at once, where its owner has said nothing of where", async () => {
    const endpoints = ["https://three.example:7443"];
    await ensure({ name: "moved", formerName: "newer", endpoints, tier: "edge" });
    assert.deepEqual(await said("moved"), [endpoints, "device"]);
    assert.deepEqual(await names(), ["moved", "peer"]);
  });

  it("is looked for again where the one of the former name has been made anew meanwhile", async () => {
    await client.create(Site, newObject(Site, { metadata: { name: "newer" }, spec: {} }));
    const earlier = await client.list(Site);
    await client.delete(Site, { name: "newer" });
    await client.create(Site, newObject(Site, { metadata: { name: "newer" }, spec: {} }));
    const lists = [earlier];
    const late: OwnSiteObjectOptions["client"] = {
      get: client.get.bind(client),
      list: ((kind, options) => lists.pop() ?? client.list(kind, options)) as KubeClient["list"],
      create: client.create.bind(client),
      delete: client.delete.bind(client),
      apply: client.apply.bind(client),
    };
    await ensure({ client: late, name: "moved", formerName: "newer" });
    assert.deepEqual(await names(), ["moved", "peer"]);
  });

  it("keeps its name where an agent of the earlier one comes to lead meanwhile", async () => {
    const agent = async (name: string) => {
      const { key, formerName } = await KeyStore.load(client, AGENT_NAMESPACE, { name });
      const named = { namespace: AGENT_NAMESPACE, id: key.id, name, ...(formerName && { formerName }) };
      return new OwnSiteObject({ client, logger: silentLogger, endpoints: own.endpoints, ...named });
    };
    const earlier = await agent("moved");
    await earlier.keep();
    const later = await agent("last");
    await later.ensure();
    await patch("last", { tier: "device" });
    const { key } = await KeyStore.load(client, AGENT_NAMESPACE);
    const status = { role: "Self", id: key.id } as const;
    await client.patch(Site, { name: "last" }, "merge", { status }, { subresource: "status" });
    const { metadata } = await client.get(Site, { name: "last" });
    await earlier.keep();
    assert.equal((await client.get(Site, { name: "last" })).metadata.resourceVersion, metadata.resourceVersion);
    assert.deepEqual(
      await said("moved"),
      [own.endpoints, "device"],
      "it goes by the owner's words as long as it leads",
    );
    await later.keep();
    assert.deepEqual(await names(), ["last", "peer"]);
    await client.delete(Site, { name: "last" });
    await later.keep();
    assert.deepEqual(await said("last"), [own.endpoints, undefined]);
  });
});
