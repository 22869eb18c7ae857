import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Contract, Peering, VirtualNode } from "@fjord/api";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { SiteKey, signTerms } from "../../identity/index.ts";
import { amountsOf, covers, isInForce, isRefusal, promised } from "../../market/index.ts";
import { type MortalClient, mortalClient } from "../../test-mortal-client.ts";
import { look, TwoSites, until } from "./test-bed.ts";

describe("an agreement", { skip: kubernetesSkip() }, () => {
  let sites: TwoSites;

  before(async () => {
    sites = await TwoSites.start();
  });
  after(() => sites?.stop());
  beforeEach(() => sites.share({ resources: { cpu: 8, memory: "16Gi" }, contractLifetime: "1h" }));
  afterEach(() => sites.clear());

  /** Exactly one contract stands, the same on both sides, and the node is its. */
  const checkWhole = async (name: string) => {
    const node = await until("the node has the contract that stands", async () => {
      const found = await look(sites.consumerClient, VirtualNode, name);
      const live = sites.provider.book.of(sites.consumer.id);
      return live.length === 1 && live[0]?.id === found?.spec.contract && found;
    });
    const mine = await sites.consumerClient.list(Contract);
    const inForce = mine.items.filter((contract) => isInForce(contract, "Consumer", sites.clock.now()));
    assert.deepEqual(
      inForce.map(({ metadata }) => metadata.name),
      [node.spec.contract],
    );
    await until("the tenant is served", () => sites.provider.tenants.get(sites.consumer.id));
  };
  const checkNothing = async (name: string) => {
    assert.equal(await look(sites.consumerClient, VirtualNode, name), undefined);
    assert.deepEqual((await sites.consumerClient.list(Contract)).items, []);
    await until("the provider serves nothing", () => sites.provider.book.of(sites.consumer.id).length === 0);
    assert.equal(sites.provider.book.shared()?.free.cpu, "8");
  };

  /** Waits for it to come true, or for the agent's death; says whether the agent has lived to see it. */
  const livesUntil = async (mortal: MortalClient, what: string, condition: () => Promise<boolean>) => {
    await until(`${what}, or the agent dies`, async () => mortal.isDead() || (await condition()));
    if (!mortal.isDead()) return true;
    await mortal.died;
    return false;
  };
  const isAgreed = async (name: string) => (await sites.reason(name, "Agreed")) === "ContractActive";
  const isGone = async (name: string) => (await look(sites.consumerClient, Peering, name)) === undefined;

  it("is made and ended although the consumer's agent dies after any of its writes", async () => {
    let deaths = 0;
    for (let nth = 1; ; nth++) {
      const mortal = mortalClient(sites.consumerClient, nth);
      await sites.killConsumer(mortal.client);
      const name = `c${nth}`;
      await sites.peer(name);
      let lives = await livesUntil(mortal, "it is agreed", () => isAgreed(name));
      if (lives) {
        await sites.consumerClient.delete(Peering, { name });
        lives = await livesUntil(mortal, "it is gone", () => isGone(name));
      }
      if (lives) break;
      deaths++;
      await sites.killConsumer();
      const left = await look(sites.consumerClient, Peering, name);
      if (left !== undefined && left.metadata.deletionTimestamp === undefined) {
        await sites.agreed(name);
        await checkWhole(name);
        await sites.unpeer(name);
      } else await until("it is gone", () => isGone(name));
      await checkNothing(name);
      await sites.clear();
    }
    await sites.killConsumer();
    assert.ok(deaths >= 5, `died ${deaths} times`);
  });

  it("is made although the provider's agent dies after any of its writes", async () => {
    let deaths = 0;
    for (let nth = 1; ; nth++) {
      const mortal = mortalClient(sites.providerClient, nth);
      await sites.killProvider(mortal.client);
      const name = `p${nth}`;
      await sites.peer(name);
      if (await livesUntil(mortal, "it is agreed", () => isAgreed(name))) break;
      deaths++;
      await sites.killProvider();
      await sites.agreed(name);
      await checkWhole(name);
      await sites.unpeer(name);
      await checkNothing(name);
      await sites.clear();
    }
    await sites.killProvider();
    assert.ok(deaths >= 4, `died ${deaths} times`);
  });

  it("never promises more than is shared, however many ask at once and whoever dies meanwhile", async () => {
    await sites.share({ resources: { cpu: 8, memory: "16Gi" }, perConsumer: { cpu: 3 }, contractLifetime: "1h" });
    const keys = await Promise.all(Array.from({ length: 10 }, () => SiteKey.generate()));
    const ask = async (index: number) => {
      const key = keys[index % keys.length] as SiteKey;
      const resources = { cpu: `${100 + ((index * 37) % 900)}m`, memory: "128Mi" };
      const proposal = await sites.provider.book.request(key, { requestId: `r-${index}`, resources });
      if (index % 3 === 0) return 1;
      await sites.provider.book.accept(key, proposal.terms.id, signTerms(key, proposal.terms));
      return 1;
    };
    const ask200 = async (from: number) => {
      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => ask(from + index)));
      const failures = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
      assert.ok(
        failures.every((error) => isRefusal(error, "AmountRefused")),
        String(failures[0]),
      );
      return outcomes.length - failures.length;
    };
    const granted = await ask200(0);
    await sites.killProvider();
    const more = await ask200(100);
    assert.ok(granted > 8, `${granted} were granted`);
    const { items } = await sites.providerClient.list(Contract);
    assert.equal(items.length, granted + more);
    const promises = items.map(({ spec }) => spec.terms);
    assert.ok(covers(amountsOf({ cpu: 8, memory: "16Gi" }), promised(promises)));
    for (const { id } of keys) {
      assert.ok(
        covers(amountsOf({ cpu: 3, memory: "16Gi" }), promised(promises.filter(({ consumer }) => consumer === id))),
      );
    }
    assert.equal(await ask(0), 1, "the same request has the same answer");
    assert.equal((await sites.providerClient.list(Contract)).items.length, items.length);
    sites.clock.jump(61_000);
    await until("what nobody signed is given back", async () => {
      const { items: left } = await sites.providerClient.list(Contract);
      return left.every(({ status }) => status?.phase === "Active");
    });
    for (const key of keys) await sites.provider.book.forget(key.id);
  });
});
