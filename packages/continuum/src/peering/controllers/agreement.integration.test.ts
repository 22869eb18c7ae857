import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Contract, newObject, Peering, Site, VirtualNode } from "@fjord/api";
import { ClusterRole, getCondition, ifNotFound, Namespace, Role, RoleBinding, ServiceAccount } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { look, TwoSites, until } from "./test-bed.ts";

describe("two sites that agree", { skip: kubernetesSkip() }, () => {
  let sites: TwoSites;

  before(async () => {
    sites = await TwoSites.start();
  });
  after(() => sites?.stop());
  beforeEach(() => sites.share({ resources: { cpu: 8, memory: "16Gi" }, contractLifetime: "1h" }));
  afterEach(() => sites.clear());

  it("make a virtual node and a tenant of a Peering, well under a second", async () => {
    const times: number[] = [];
    // A server's first work with a kind is slow, and other tests may have the processors for a while.
    for (const name of ["warm", "again", "once-more"]) {
      times.push(await sites.timeToNode(name));
      await sites.agreed(name);
      await sites.clear();
    }
    while (times.length < 8 && Math.min(...times) >= 1_000) {
      times.push(await sites.timeToNode(`more-${times.length}`));
      await sites.clear();
    }
    times.push(await sites.timeToNode("first"));
    assert.ok(Math.min(...times) < 1_000, `${times.join(", ")} ms`);
    const node = await sites.consumerClient.get(VirtualNode, { name: "first" });
    const contract = await sites.consumerClient.get(Contract, { name: node.spec.contract });
    assert.equal(contract.status?.phase, "Active");
    const copy = await sites.providerClient.get(Contract, { name: node.spec.contract });
    assert.deepEqual(copy.spec.terms, contract.spec.terms);
    assert.deepEqual(copy.status?.signatures, contract.status?.signatures);
    const namespace = `fjord-tenant-${sites.consumer.id}`;
    await sites.providerClient.get(ServiceAccount, { name: "consumer", namespace });
    await sites.providerClient.get(Role, { name: "consumer", namespace });
    assert.equal((await sites.agreed("first")).status?.virtualNode, "first");
    await until("it is realised", async () => (await sites.reason("first", "Realised")) === "NodeMade");
  });

  it("keep the role of tenants there, whoever deletes it", async () => {
    await sites.peer("kept");
    await sites.agreed("kept");
    const role = await sites.providerClient.get(ClusterRole, { name: "fjord-tenant" });
    await sites.providerClient.delete(ClusterRole, { name: "fjord-tenant" });
    await until("it is there again", async () => {
      const found = await look(sites.providerClient, ClusterRole, "fjord-tenant");
      return found !== undefined && found.metadata.uid !== role.metadata.uid;
    });
  });

  it("keep what a tenant may do in its own namespace, whoever deletes or changes it", async () => {
    await sites.peer("entitled");
    await sites.agreed("entitled");
    const key = { name: "consumer", namespace: `fjord-tenant-${sites.consumer.id}` };
    await until("the tenant is made", () => sites.provider.tenants.get(sites.consumer.id) !== undefined);
    await sites.providerClient.delete(RoleBinding, key);
    await until("it is bound again", async () => sites.providerClient.get(RoleBinding, key).catch(ifNotFound));
    await sites.providerClient.patch(RoleBinding, key, "merge", { subjects: null });
    await until("the binding is the tenant's again", async () => {
      return (await sites.providerClient.get(RoleBinding, key)).subjects?.length === 1;
    });
    await sites.providerClient.delete(Role, key);
    await until("there is the role again", async () => sites.providerClient.get(Role, key).catch(ifNotFound));
    await sites.providerClient.patch(Role, key, "merge", { rules: [] });
    await until("it has its rules again", async () => (await sites.providerClient.get(Role, key)).rules?.length === 1);
  });

  it("leave nothing behind when the Peering is deleted", async () => {
    await sites.peer("short");
    const { status } = await sites.agreed("short");
    await sites.unpeer("short");
    assert.equal(await look(sites.consumerClient, VirtualNode, "short"), undefined);
    assert.equal(await look(sites.consumerClient, Contract, status?.contract ?? ""), undefined);
    const ended = await sites.ended(sites.providerClient, status?.contract ?? "");
    assert.equal(ended, "Cancelled");
    await until("the tenant goes", async () => {
      await sites.finalizeNamespaces();
      return (await look(sites.providerClient, Namespace, `fjord-tenant-${sites.consumer.id}`)) === undefined;
    });
    assert.equal(sites.provider.tenants.get(sites.consumer.id), undefined);
  });

  it("say why nothing is agreed, and agree as soon as it can be", async () => {
    await sites.share({ resources: { cpu: 1, memory: "16Gi" } });
    await sites.peer("large");
    const refused = await until("it is refused", async () => {
      const found = await look(sites.consumerClient, Peering, "large");
      const condition = getCondition(found?.status?.conditions, "Agreed");
      return condition?.reason === "AmountRefused" && condition;
    });
    assert.match(refused.message, /available: cpu 1, memory 16Gi/);
    await sites.share({ resources: { cpu: 4, memory: "16Gi" } });
    await sites.agreed("large");
    await sites.unpeer("large");

    const sharing = { resources: { cpu: 4 }, consumers: { accept: "Listed" as const, sites: ["z".repeat(26)] } };
    await sites.share(sharing);
    await sites.peer("unlisted", { resources: { cpu: 1 } });
    await until("it is refused", async () => (await sites.reason("unlisted", "Agreed")) === "ConsumerRefused");
    await sites.share(null);
    await sites.peer("nothing", { resources: { cpu: 1 } });
    await until("nothing is shared", async () => (await sites.reason("nothing", "Agreed")) === "NotSharing");
    await sites.peer("nobody", { site: "somewhere" });
    await until("nobody is known", async () => (await sites.reason("nobody", "Paired")) === "SiteUnknown");
    assert.equal(await sites.reason("nobody", "Ready"), "NotPaired");
  });

  it("renew a contract after two thirds of its life, and know the new by the old's name", async () => {
    await sites.peer("long");
    const old = (await sites.agreed("long")).status?.contract ?? "";
    sites.clock.jump(41 * 60_000);
    const node = await until("the node has a new contract", async () => {
      const found = await look(sites.consumerClient, VirtualNode, "long");
      return found?.spec.contract !== old && found;
    });
    const renewed = await sites.consumerClient.get(Contract, { name: node.spec.contract });
    assert.equal(renewed.spec.terms.supersedes, old);
    assert.equal(await sites.ended(sites.consumerClient, old), "Superseded");
    assert.equal(await sites.ended(sites.providerClient, old), "Superseded");
    assert.equal((await sites.providerClient.get(Contract, { name: old })).status?.supersededBy, node.spec.contract);
    assert.equal(sites.provider.book.resolve(old)?.id, node.spec.contract);
    assert.ok(sites.provider.tenants.get(sites.consumer.id));
    sites.clock.jump(41 * 60_000);
    await until("it is renewed again", async () => {
      const found = await look(sites.consumerClient, VirtualNode, "long");
      return found?.spec.contract !== node.spec.contract;
    });
    sites.clock.jump(20 * 60_000);
    await until("what has ended is removed after an hour", async () => {
      const copies = [sites.consumerClient, sites.providerClient].map((client) => look(client, Contract, old));
      return (await Promise.all(copies)).every((copy) => copy === undefined);
    });
    assert.ok(sites.provider.book.resolve(old), "a pod that names the first contract is still served");
  });

  it("resize from the consumer's side, both ways, and keep what there is when more is refused", async () => {
    await sites.peer("elastic");
    await sites.agreed("elastic");
    const resize = async (resources: Record<string, unknown>) => {
      await sites.consumerClient.patch(Peering, { name: "elastic" }, "merge", { spec: { resources } });
    };
    const has = (cpu: string) =>
      until(`the node's contract has ${cpu}`, () => sites.cpuOf("elastic").then((is) => is === cpu));
    await resize({ cpu: 4 });
    await has("4");
    await resize({ cpu: 1 });
    await has("1");
    await resize({ cpu: 80 });
    await until("the refusal is told", async () => {
      const found = await look(sites.consumerClient, Peering, "elastic");
      return /available: cpu 8/.test(getCondition(found?.status?.conditions, "Agreed")?.message ?? "");
    });
    assert.equal(await sites.reason("elastic", "Agreed"), "ContractActive");
    await has("1");
  });

  it("go on with a contract whose signatures the consumer could not keep, though it heard that the one before is over", async () => {
    const { consumerClient: consumer, providerClient: provider } = sites;
    await sites.peer("unkept");
    const first = (await sites.agreed("unkept")).status?.contract ?? "";
    await consumer.patch(Peering, { name: "unkept" }, "merge", { spec: { resources: { cpu: 3 } } });
    const second = await until("there is another contract", async () => {
      const contract = (await look(consumer, Peering, "unkept"))?.status?.contract;
      return contract !== first && contract;
    });
    assert.equal(await sites.ended(consumer, first), "Superseded");
    const lost = { signatures: null, phase: "Proposed", conditions: null };
    await consumer.patch(Contract, { name: second }, "merge", { status: lost }, { subresource: "status" });
    await until(
      "it is in force",
      async () => (await look(consumer, Contract, second))?.status?.phase === "Active",
      10_000,
    );
    assert.equal((await sites.agreed("unkept")).status?.contract, second);
    assert.equal((await look(provider, Contract, second))?.status?.phase, "Active");
  });

  it("resize from the provider's side: less at once, and what was wanted when the limit goes", async () => {
    await sites.peer("limited", { resources: { cpu: 4, memory: "4Gi" } });
    const { status } = await sites.agreed("limited");
    const limit = (name: string, cpu: number | null) =>
      sites.providerClient.patch(Contract, { name }, "merge", { spec: { limit: cpu === null ? null : { cpu } } });
    await limit(status?.contract ?? "", 2);
    await until("the node shrinks", async () => (await sites.cpuOf("limited")) === "2");
    const isLimited = /is in force; limited by its provider: cpu 2 of 4$/;
    await until("its owner is told why", async () => isLimited.test(await sites.agreement("limited")));
    const node = await sites.consumerClient.get(VirtualNode, { name: "limited" });
    await limit(node.spec.contract, null);
    await until("the node grows", async () => (await sites.cpuOf("limited")) === "4");
    await until("nothing is limited", async () => !isLimited.test(await sites.agreement("limited")));
  });

  it("have a node for each of several Peerings, and never take a foreign one", async () => {
    const foreign = newObject(VirtualNode, { metadata: { name: "foreign" }, spec: { contract: "c-theirs" } });
    await sites.consumerClient.create(VirtualNode, foreign);
    await Promise.all(["one", "two", "foreign"].map((name) => sites.peer(name, { resources: { cpu: 1 } })));
    const names = await Promise.all(["one", "two"].map((name) => sites.agreed(name)));
    assert.notEqual(names[0]?.status?.contract, names[1]?.status?.contract);
    await until("the name is taken", async () => (await sites.reason("foreign", "Realised")) === "NodeNameTaken");
    assert.equal((await sites.consumerClient.get(VirtualNode, { name: "foreign" })).spec.contract, "c-theirs");
    await sites.unpeer("foreign");
    assert.ok(await look(sites.consumerClient, VirtualNode, "foreign"));
    await sites.consumerClient.delete(VirtualNode, { name: "foreign" });
  });

  it("show in their Sites what they are, what they share and whether they answer", async () => {
    await sites.peer("shown", { resources: { cpu: 3, memory: "1Gi" } });
    await sites.agreed("shown");
    await until("the own Site says what is free", async () => {
      const { status } = await sites.providerClient.get(Site, { name: "provider" });
      return status?.role === "Self" && status.free?.cpu === "5" && status.shared?.cpu === "8";
    });
    await until("the peer's Site says that it answers", async () => {
      const { status } = await sites.consumerClient.get(Site, { name: "prov" });
      return (
        getCondition(status?.conditions, "Ready")?.reason === "Reachable" && status?.published?.version === "0.1.0"
      );
    });
  });

  it("show what guests take of a contract, now and then", async () => {
    // Longer than all the time that passes below, however often it is looked: a renewed one has another name.
    await sites.share({ resources: { cpu: 8, memory: "16Gi" }, contractLifetime: "720h" });
    await sites.peer("busy");
    const id = (await sites.agreed("busy")).status?.contract ?? "";
    const shows = (used: Record<string, string> | undefined) =>
      until(`${JSON.stringify(used)} is shown`, async () => {
        sites.clock.jump(15_000);
        const contract = await sites.providerClient.get(Contract, { name: id });
        return JSON.stringify(contract.status?.used ?? {}) === JSON.stringify(used);
      });
    sites.provider.used = (contract) =>
      new Map(
        contract === id
          ? [
              ["cpu", 250_000_000n],
              ["pods", 1_000_000_000n],
            ]
          : [],
      );
    await shows({ cpu: "250m", pods: "1" });
    sites.provider.used = () => new Map([["pods", 2_000_000_000n]]);
    await shows({ pods: "2" });
  });
});
