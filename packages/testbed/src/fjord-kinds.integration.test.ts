// Where `api` and `kube`, which do not know each other, meet: Fjord's kinds through the client and a cache.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ConditionOf, newObject, Offloading, Site, type SpecDraftOf } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import { Cache, CustomResourceDefinition, isInvalid, KubeClient, setCondition } from "@fjord/kube";
import { kubernetesSkip, startTestSite } from "./testing.ts";

describe("Fjord's kinds through the client", { skip: kubernetesSkip() }, () => {
  it("are typed, defaulted, watched, and their status is written apart", async () => {
    await using site = await startTestSite();
    await using client = new KubeClient(site.config);
    await installKinds(client);

    const sharing: SpecDraftOf<typeof Site>["sharing"] = { resources: { cpu: "8", memory: "16Gi" } };
    const draft = newObject(Site, { metadata: { name: "harbour" }, spec: { tier: "edge", sharing } });
    const created = await client.create(Site, draft);
    assert.deepEqual(created.spec, draft.spec);
    assert.equal(created.spec.sharing?.contractLifetime, "24h");

    const stop = new AbortController();
    const sites = new Cache({ kind: Site, client, clock: systemClock, random: Math.random, logger: silentLogger });
    const running = sites.run(stop.signal);
    await sites.waitForSync();
    const ready = { type: "Ready", status: "True", reason: "Serving", message: "" } as const;
    const { conditions } = setCondition<ConditionOf<typeof Site>>([], ready, systemClock.now());
    const updated = Promise.withResolvers<Site>();
    sites.addHandler({ onUpdate: (_, object) => updated.resolve(object) });
    await client.apply(
      Site,
      { metadata: { name: "harbour" }, status: { conditions } },
      { fieldManager: "fjord-test", subresource: "status" },
    );
    assert.equal((await updated.promise).status?.conditions?.[0]?.type, "Ready");
    assert.equal(sites.get({ name: "harbour" })?.spec.tier, "edge");
    stop.abort();
    await running;

    const wrong = { ...newObject(Offloading, { metadata: { name: "offloading", namespace: "default" }, spec: {} }) };
    const refused = client.create(Offloading, { ...wrong, spec: { ...wrong.spec, pods: "Somewhere" as "Both" } });
    await assert.rejects(refused, (error) => isInvalid(error) && /spec\.pods/.test(error.message));
  });
});

async function installKinds(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
    const fieldSelector = `metadata.name=${definition.metadata.name}`;
    for await (const { object } of client.watch(CustomResourceDefinition, { fieldSelector })) {
      if ("status" in object && object.status?.conditions?.some(isEstablished)) break;
    }
  }
}

function isEstablished({ type, status }: { type: string; status: string }): boolean {
  return type === "Established" && status === "True";
}
