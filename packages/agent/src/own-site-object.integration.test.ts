import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AGENT_NAMESPACE, newObject, Site } from "@fjord/api";
import { KubeClient } from "@fjord/kube";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { installObjects } from "./installation/install-objects.ts";
import { manifests } from "./installation/manifests.ts";
import { ensureOwnSite } from "./own-site-object.ts";

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

  it("moves to its new name with all that its owner said of it, and leaves nothing under the old one", async () => {
    await ensureOwnSite(client, { ...own, name: "old" });
    const sharing = { resources: { cpu: "2" } };
    await client.patch(Site, { name: "old" }, "merge", { spec: { sharing, tier: "edge" } });
    await client.create(Site, newObject(Site, { metadata: { name: "peer" }, spec: { id: other } }));

    await ensureOwnSite(client, { ...own, name: "new", formerName: "old" });
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
    await ensureOwnSite(client, { ...own, name: "newer" });
    assert.deepEqual(await names(), ["newer", "peer"]);
    assert.equal((await client.get(Site, { name: "newer" })).spec.tier, "edge");
  });

  it("never takes a peer's for its own, whatever name it had", async () => {
    await ensureOwnSite(client, { ...own, name: "newer", formerName: "peer" });
    assert.deepEqual(await names(), ["newer", "peer"]);
  });
});
