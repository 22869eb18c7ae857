import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Contract, Peering, VirtualNode } from "@fjord/api";
import { getCondition, Namespace, Role, ServiceAccount } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { look, TwoSites, until } from "./test-bed.ts";

describe("two sites that agree", { skip: kubernetesSkip() }, () => {
  let sites: TwoSites;

  before(async () => {
    sites = await TwoSites.start();
  });
  after(() => sites?.stop());
  beforeEach(() => sites.share({ resources: { cpu: 8, memory: "16Gi" }, contractLifetime: "1h" }));

  const peering = (name: string) => look(sites.consumerClient, Peering, name);
  const reasonOf = async (name: string, type: "Paired" | "Agreed" | "Realised" | "Ready") =>
    getCondition((await peering(name))?.status?.conditions, type)?.reason;
  const agreed = (name: string) =>
    until(`${name} is agreed`, async () => {
      const found = await peering(name);
      return getCondition(found?.status?.conditions, "Agreed")?.reason === "ContractActive" && found;
    });
  const remove = async (name: string) => {
    await sites.consumerClient.delete(Peering, { name });
    await until(`${name} is gone`, async () => (await peering(name)) === undefined);
  };

  it("make a virtual node and a tenant of a Peering, well under a second", async () => {
    const began = Date.now();
    await sites.peer("first");
    const node = await until("there is a virtual node", () => look(sites.consumerClient, VirtualNode, "first"));
    const took = Date.now() - began;
    assert.ok(took < 1_000, `${took} ms`);
    const contract = await sites.consumerClient.get(Contract, { name: node.spec.contract });
    assert.equal(contract.status?.phase, "Active");
    const copy = await sites.providerClient.get(Contract, { name: node.spec.contract });
    assert.deepEqual(copy.spec.terms, contract.spec.terms);
    assert.deepEqual(copy.status?.signatures, contract.status?.signatures);
    const namespace = `fjord-tenant-${sites.consumer.id}`;
    await sites.providerClient.get(Namespace, { name: namespace });
    await sites.providerClient.get(ServiceAccount, { name: "consumer", namespace });
    await sites.providerClient.get(Role, { name: "consumer", namespace });
    await agreed("first");
    assert.equal(await reasonOf("first", "Realised"), "NodeMade");
    await remove("first");
    assert.equal(await look(sites.consumerClient, VirtualNode, "first"), undefined);
    assert.equal(await look(sites.consumerClient, Contract, node.spec.contract), undefined);
    const ended = await until("the provider's copy has ended", async () => {
      const found = await look(sites.providerClient, Contract, node.spec.contract);
      return found?.status?.phase === "Ended" && found;
    });
    assert.equal(getCondition(ended.status?.conditions, "Ended")?.reason, "Cancelled");
    await until("the tenant goes", async () => {
      const found = await look(sites.providerClient, Namespace, namespace);
      return found === undefined || found.metadata.deletionTimestamp !== undefined;
    });
  });
});
