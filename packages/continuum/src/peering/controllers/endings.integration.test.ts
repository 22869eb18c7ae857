import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import {
  CONSUMER_LABEL,
  Contract,
  FORCE_REMOVE_ANNOTATION,
  newObject,
  Peering,
  ShadowPod,
  Site,
  VirtualNode,
} from "@fjord/api";
import { getCondition, Namespace } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { look, TwoSites, until } from "./test-bed.ts";

describe("a contract", { skip: kubernetesSkip() }, () => {
  let sites: TwoSites;

  before(async () => {
    sites = await TwoSites.start();
  });
  after(() => sites?.stop());
  beforeEach(() => sites.share({ resources: { cpu: 8, memory: "16Gi" }, contractLifetime: "1h" }));
  afterEach(() => sites.clear());

  const begin = async (name: string, spec: Parameters<TwoSites["peer"]>[1] = {}) => {
    await sites.peer(name, spec);
    return (await sites.agreed(name)).status?.contract ?? "";
  };
  const setStanding = (client: TwoSites["consumerClient"], name: string, standing: string) =>
    client.patch(Contract, { name }, "merge", { spec: { standing } });
  const activeReason = async (client: TwoSites["consumerClient"], name: string) =>
    getCondition((await look(client, Contract, name))?.status?.conditions, "Active")?.reason;

  it("expires at its very end, on both sides, where it is not to be renewed", async () => {
    const id = await begin("finite", { renew: false });
    sites.clock.jump(45 * 60_000);
    await until("its end is announced", async () => {
      const contract = await look(sites.consumerClient, Contract, id);
      return getCondition(contract?.status?.conditions, "Expiring")?.reason === "NotRenewed";
    });
    assert.ok(sites.provider.book.resolve(id));
    sites.clock.jump(16 * 60_000);
    assert.equal(sites.provider.book.resolve(id), undefined);
    assert.equal(sites.provider.tenants.get(sites.consumer.id), undefined);
    assert.equal(await sites.ended(sites.providerClient, id), "Expired");
    assert.equal(await sites.ended(sites.consumerClient, id), "Expired");
    await until("the Peering says so", async () => (await sites.reason("finite", "Agreed")) === "ContractEnded");
  });

  it("is agreed anew when it ran out while the provider was away", async () => {
    const id = await begin("patient");
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    way.cut = true;
    sites.clock.jump(42 * 60_000);
    await until("it is known why it is not renewed", async () => {
      const contract = await look(sites.consumerClient, Contract, id);
      return getCondition(contract?.status?.conditions, "Expiring")?.reason === "ProviderUnreachable";
    });
    sites.clock.jump(20 * 60_000);
    assert.equal(await sites.ended(sites.consumerClient, id), "Expired");
    await sites.finalizeNamespaces();
    way.cut = false;
    await until("there is another contract", async () => {
      const found = await look(sites.consumerClient, Peering, "patient");
      return found?.status?.contract !== id && (await sites.reason("patient", "Agreed")) === "ContractActive";
    });
  });

  it("that the provider revokes is over at once, and is not asked for again by itself", async () => {
    const id = await begin("revoked");
    await setStanding(sites.providerClient, id, "Ended");
    await until("the proxy would not serve it", () => sites.provider.tenants.get(sites.consumer.id) === undefined);
    assert.equal(await sites.ended(sites.providerClient, id), "Revoked");
    assert.equal(await sites.ended(sites.consumerClient, id), "Revoked");
    await until("the Peering says so", async () => (await sites.reason("revoked", "Agreed")) === "ContractEnded");
    await sites.finalizeNamespaces();
    await sites.consumerClient.patch(Peering, { name: "revoked" }, "merge", { spec: { resources: { cpu: 1 } } });
    await until("another wish is asked for", async () => (await sites.cpuOf("revoked")) === "1");
    const second = (await sites.agreed("revoked")).status?.contract ?? "";
    await setStanding(sites.providerClient, second, "Ended");
    await until("the Peering says so", async () => (await sites.reason("revoked", "Agreed")) === "ContractEnded");
    await sites.finalizeNamespaces();
    const askedAt = "2030-01-01T00:00:00Z";
    await sites.consumerClient.patch(Peering, { name: "revoked" }, "merge", { spec: { askedAt } });
    await until("the same is asked for again", async () => {
      const found = await look(sites.consumerClient, Peering, "revoked");
      return found?.status?.contract !== second && (await sites.reason("revoked", "Agreed")) === "ContractActive";
    });
  });

  it("that the consumer cancels frees what it held", async () => {
    const id = await begin("cancelled");
    await setStanding(sites.consumerClient, id, "Ended");
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled");
    assert.equal(await sites.ended(sites.consumerClient, id), "Cancelled");
    await until("all is free again", () => sites.provider.book.shared()?.free.cpu === "8");
  });

  it("whose object the provider deletes is over too", async () => {
    const id = await begin("lost");
    await sites.providerClient.delete(Contract, { name: id });
    assert.equal(await sites.ended(sites.consumerClient, id), "Revoked");
  });

  it("whose object the provider makes and deletes between two reports is over too", async () => {
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    const refresh = way.refresh.bind(way);
    way.refresh = () => {};
    try {
      const id = await begin("brief");
      await sites.providerClient.delete(Contract, { name: id });
      await until("the provider has let go of it", () => sites.provider.book.resolve(id) === undefined);
      way.refresh = refresh;
      assert.equal(await sites.ended(sites.consumerClient, id), "Revoked");
    } finally {
      way.refresh = refresh;
    }
  });

  it("is cordoned and drained from either side, and opened again", async () => {
    const id = await begin("cordoned");
    await setStanding(sites.providerClient, id, "Cordoned");
    await until("the consumer knows", async () => (await activeReason(sites.consumerClient, id)) === "Cordoned");
    assert.equal(sites.provider.book.resolve(id)?.takesPods, false);
    await setStanding(sites.providerClient, id, "Open");
    await until("the consumer knows", async () => (await activeReason(sites.consumerClient, id)) === "InForce");
    await setStanding(sites.consumerClient, id, "Drained");
    await until("the provider knows", () => sites.provider.book.resolve(id)?.drained);
    assert.equal(await activeReason(sites.providerClient, id), "Drained");
    await sites.killConsumer();
    await setStanding(sites.consumerClient, id, "Open");
    await until("the provider knows", () => sites.provider.book.resolve(id)?.takesPods);
  });

  it("that the provider has closed keeps its consumer from another after its end, until it is opened", async () => {
    const cordoned = async () => {
      const site = await sites.providerClient.get(Site, { name: "cons" });
      return getCondition(site.status?.conditions, "Cordoned")?.reason;
    };
    const refused = async (name: string) => (await sites.reason(name, "Agreed")) === "ConsumerRefused";
    const id = await begin("closed");
    await setStanding(sites.providerClient, id, "Cordoned");
    await until("the Site says so", async () => (await cordoned()) === "ContractsClosed");
    await sites.consumerClient.delete(Peering, { name: "closed" });
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled");
    await sites.killProvider();
    sites.clock.jump(2 * 3_600_000);
    await sites.peer("anew");
    await until("no other is given", () => refused("anew"));
    assert.equal(await cordoned(), "ContractsClosed");

    await setStanding(sites.providerClient, id, "Open");
    await until("it goes", async () => (await look(sites.providerClient, Contract, id)) === undefined);
    await until("the Site says so", async () => (await cordoned()) === "ContractsOpen");
    await sites.finalizeNamespaces();
    await sites.consumerClient.patch(Peering, { name: "anew" }, "merge", { spec: { askedAt: "2030-01-01T00:00:00Z" } });
    const second = (await sites.agreed("anew")).status?.contract ?? "";

    await setStanding(sites.providerClient, second, "Drained");
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    way.cut = true;
    sites.clock.jump(61 * 60_000);
    assert.equal(await sites.ended(sites.providerClient, second), "Expired");
    way.cut = false;
    await until("nor after it ran out", () => refused("anew"));
    await setStanding(sites.providerClient, second, "Open");
  });

  it("takes its shadow pods, twin namespaces and tenant with it", async () => {
    const id = await begin("guests");
    const labels = { [CONSUMER_LABEL]: sites.consumer.id };
    await sites.providerClient.create(Namespace, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop-twin", labels },
    });
    const spec = { contract: id, originUid: "1", pod: { spec: { containers: [{ name: "web", image: "web" }] } } };
    const shadow = newObject(ShadowPod, {
      metadata: { name: "web", namespace: "shop-twin", labels },
      spec: spec as never,
    });
    await sites.providerClient.create(ShadowPod, shadow);
    await setStanding(sites.providerClient, id, "Ended");
    await until("nothing is left", async () => {
      const pods = await sites.providerClient.list(ShadowPod, {
        labelSelector: `${CONSUMER_LABEL}=${sites.consumer.id}`,
      });
      await sites.finalizeNamespaces();
      const twin = await look(sites.providerClient, Namespace, "shop-twin");
      const tenant = await look(sites.providerClient, Namespace, `fjord-tenant-${sites.consumer.id}`);
      return pods.items.length === 0 && twin === undefined && tenant === undefined;
    });
  });

  it("with a provider that is gone for good ends by force alone", async () => {
    const id = await begin("widow");
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    way.cut = true;
    await sites.consumerClient.delete(Peering, { name: "widow" });
    await until("it says what it waits for", async () => {
      const found = await look(sites.consumerClient, Peering, "widow");
      return /does not answer/.test(getCondition(found?.status?.conditions, "Ready")?.message ?? "");
    });
    const patch = { metadata: { annotations: { [FORCE_REMOVE_ANNOTATION]: "true" } } };
    await sites.consumerClient.patch(Peering, { name: "widow" }, "merge", patch);
    await until("it is gone", async () => (await look(sites.consumerClient, Peering, "widow")) === undefined);
    assert.equal(await look(sites.consumerClient, Contract, id), undefined);
    assert.equal(await look(sites.consumerClient, VirtualNode, "widow"), undefined);
    assert.ok(sites.provider.book.resolve(id), "a provider that was not told serves it");
    way.cut = false;
    way.refresh();
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled", "and is told when it is back");
  });

  it("of a provider that has forgotten this site is over, and called off where that remembers it after all", async () => {
    const id = await begin("forgotten");
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    way.forget();
    assert.equal(await sites.ended(sites.consumerClient, id), "Revoked");
    assert.ok(sites.provider.book.resolve(id));
    way.cut = false;
    way.refresh();
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled");
  });

  it("keeps its Peering from going while the provider is silent, not where that has forgotten this site", async () => {
    const id = await begin("farewell");
    const way = sites.consumer.sites.get(sites.provider.id);
    assert.ok(way);
    way.cut = true;
    await sites.consumerClient.delete(Peering, { name: "farewell" });
    await until("it says what it waits for", async () => {
      const found = await look(sites.consumerClient, Peering, "farewell");
      return /does not answer/.test(getCondition(found?.status?.conditions, "Ready")?.message ?? "");
    });
    way.forget();
    await until("it is gone", async () => (await look(sites.consumerClient, Peering, "farewell")) === undefined);
    assert.equal(await look(sites.consumerClient, Contract, id), undefined);
    way.cut = false;
    way.refresh();
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled");
  });

  it("of which the consumer has lost all that it knew is let go when it is back", async () => {
    const id = await begin("wiped");
    await sites.consumer.kill();
    for (const [kind, name] of [
      [Peering, "wiped"],
      [VirtualNode, "wiped"],
      [Contract, id],
    ] as const) {
      await sites.consumerClient.patch(kind as typeof Peering, { name }, "merge", { metadata: { finalizers: null } });
      await sites.consumerClient.delete(kind as typeof Peering, { name });
    }
    await sites.killConsumer();
    assert.equal(await sites.ended(sites.providerClient, id), "Cancelled");
  });

  it("goes with the Site of the consumer, and the Peering with that of the provider", async () => {
    const id = await begin("parted");
    const consumerSite = await sites.providerClient.get(Site, { name: "cons" });
    await sites.providerClient.delete(Site, { name: "cons" });
    await until("the Site is gone", async () => (await look(sites.providerClient, Site, "cons")) === undefined);
    assert.equal(await look(sites.providerClient, Contract, id), undefined);
    assert.equal(sites.provider.tenants.get(sites.consumer.id), undefined);
    const providerSite = await sites.consumerClient.get(Site, { name: "prov" });
    await sites.consumerClient.delete(Site, { name: "prov" });
    await until("the Site is gone", async () => (await look(sites.consumerClient, Site, "prov")) === undefined);
    assert.equal(await look(sites.consumerClient, Peering, "parted"), undefined);
    for (const [client, { metadata, spec }] of [
      [sites.consumerClient, providerSite],
      [sites.providerClient, consumerSite],
    ] as const) {
      await client.create(Site, newObject(Site, { metadata: { name: metadata.name ?? "" }, spec }));
    }
  });
});
