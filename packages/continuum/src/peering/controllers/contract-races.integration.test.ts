// Consumers that ask in an order of their own, several at once, and agents of one provider that do not know of each other.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { Contract, newObject, Site, type SpecDraftOf } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { CustomResourceDefinition, ifNotFound, KubeClient } from "@fjord/kube";
import { startTestSite, type TestSite } from "@fjord/testbed/testing";
import { SiteKey, signTerms } from "../../identity/index.ts";
import { amountsOf, isInForce } from "../../market/index.ts";
import type { PeerRefused } from "../../peer-refused-error.ts";
import type { ContractProposal, Resources } from "../../protocol.ts";
import { JumpingClock } from "../../test-jumping-clock.ts";
import { TestAgent } from "./test-agent.ts";
import { until } from "./test-bed.ts";

type Asked = { readonly requestId: string; readonly resources?: Resources; readonly supersedes?: string };

describe("contracts asked for by whoever means harm", { timeout: 300_000 }, () => {
  let site: TestSite;
  let client: KubeClient;
  let key: SiteKey;
  let clock: JumpingClock;
  let provider: TestAgent;
  let mallory: SiteKey;

  before(async () => {
    site = await startTestSite({ kubernetes: "microkube" });
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    for (const definition of customResourceDefinitions())
      await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
    key = await SiteKey.generate();
  });
  after(async () => {
    await client?.close();
    await site?.stop();
  });
  beforeEach(async () => {
    clock = new JumpingClock();
    mallory = await SiteKey.generate();
    provider = await agent().start();
    await share({ resources: { cpu: 8 }, contractLifetime: "1h" });
  });
  afterEach(async () => {
    await provider.kill();
    for (const { metadata } of (await client.list(Contract)).items)
      await client.delete(Contract, { name: metadata.name ?? "" }).catch(ifNotFound);
  });

  function agent(): TestAgent {
    return new TestAgent({ client, key, siteName: "provider", clock, peers: () => [] });
  }

  async function share(sharing: SpecDraftOf<typeof Site>["sharing"]): Promise<void> {
    await until("the own Site exists", () => provider.own.object());
    const { metadata } = await client.patch(Site, { name: "provider" }, "merge", { spec: { sharing } });
    await until("the policy is known", () => {
      return (provider.own.object()?.metadata.generation ?? 0) >= (metadata.generation ?? 0);
    });
  }

  const ask = (who: SiteKey, { resources = { cpu: 1 }, ...asked }: Asked, of = provider): Promise<ContractProposal> =>
    of.book.request({ id: who.id, publicKey: who.publicKey }, { resources, ...asked });
  const accept = (who: SiteKey, { terms }: ContractProposal, of = provider): Promise<Contract> =>
    of.book.accept({ id: who.id, publicKey: who.publicKey }, terms.id, signTerms(who, terms));
  const live = (who: SiteKey, of = provider) => of.book.of(who.id).map(({ id }) => id);

  it("leave one of a line in force, in whatever order proposals are accepted", async () => {
    const first = await ask(mallory, { requestId: "a" });
    await accept(mallory, first);
    const { id: supersedes } = first.terms;
    const early = await ask(mallory, { requestId: "b", resources: { cpu: 8 }, supersedes });
    clock.jump(1);
    const late = await ask(mallory, { requestId: "c", resources: { cpu: 8 }, supersedes });
    await accept(mallory, late);
    await accept(mallory, early).catch(String);
    assert.deepEqual(live(mallory), [late.terms.id]);
  });

  it("do not get past a cordon by a proposal of before", async () => {
    const first = await ask(mallory, { requestId: "a" });
    await accept(mallory, first);
    const { id: supersedes } = first.terms;
    const next = await ask(mallory, { requestId: "b", supersedes });
    await client.patch(Contract, { name: supersedes }, "merge", { spec: { standing: "Cordoned" } });
    await until("it is closed", () => provider.book.of(mallory.id).every(({ takesPods }) => !takesPods));
    await accept(mallory, next).catch(String);
    assert.ok(
      provider.book.of(mallory.id).every(({ takesPods }) => !takesPods),
      "a contract takes pods",
    );
  });

  it("do not get past a limit by a proposal of before", async () => {
    const first = await ask(mallory, { requestId: "a", resources: { cpu: 4 } });
    await accept(mallory, first);
    const { id: supersedes } = first.terms;
    const next = await ask(mallory, { requestId: "b", resources: { cpu: 8 }, supersedes });
    await client.patch(Contract, { name: supersedes }, "merge", { spec: { limit: { cpu: 2 } } });
    await until("the limit is known", () => provider.store.get(supersedes)?.spec.limit !== undefined);
    await accept(mallory, next).catch(String);
    const [contract] = provider.book.of(mallory.id);
    assert.notEqual(String(contract?.resources.cpu), "8");
    assert.deepEqual(String(provider.store.get(contract?.id ?? "")?.spec.limit?.cpu), "2");
  });

  it("do not outlive their owner's end by a proposal of before", async () => {
    for (let round = 0; round < 20; round++) {
      const first = await ask(mallory, { requestId: `a${round}` });
      await accept(mallory, first);
      const { id: supersedes } = first.terms;
      const next = await ask(mallory, { requestId: `b${round}`, supersedes });
      const ended = client.patch(Contract, { name: supersedes }, "merge", { spec: { standing: "Ended" } });
      const gone = until("it is known", () => provider.store.get(supersedes)?.spec.standing === "Ended");
      const accepted = gone.then(() => accept(mallory, next)).catch(String);
      await Promise.all([ended, accepted]);
      assert.deepEqual(live(mallory), [], `round ${round}`);
    }
  });

  it("do not get past a cordon by two proposals that speak for each other", async () => {
    await accept(mallory, await ask(mallory, { requestId: "a" }));
    const more = [await ask(mallory, { requestId: "b" }), await ask(mallory, { requestId: "c" })];
    for (const id of live(mallory))
      await client.patch(Contract, { name: id }, "merge", { spec: { standing: "Drained" } });
    await until("it is closed", () => provider.book.of(mallory.id).every(({ drained }) => drained));
    await assert.rejects(ask(mallory, { requestId: "d" }), /has closed its contracts/);
    for (const each of more) await assert.rejects(accept(mallory, each), /has closed its contracts/);
  });

  it("take over what an owner says of a contract in the moment in which it is renewed", async () => {
    const first = await ask(mallory, { requestId: "a" });
    await accept(mallory, first);
    const next = await ask(mallory, { requestId: "b", supersedes: first.terms.id });
    await accept(mallory, next);
    await client.patch(Contract, { name: first.terms.id }, "merge", {
      spec: { standing: "Cordoned", limit: { cpu: 1 } },
    });
    await until("the new one is closed", () => provider.book.of(mallory.id).every(({ takesPods }) => !takesPods));
    assert.equal(String(provider.store.get(next.terms.id)?.spec.limit?.cpu), "1");
    await client.patch(Contract, { name: next.terms.id }, "merge", { spec: { standing: "Open" } });
    await until("it is opened", () => provider.book.of(mallory.id).some(({ takesPods }) => takesPods));
    clock.jump(1_000);
    await provider.book.settle(first.terms.id);
    assert.ok(
      provider.book.of(mallory.id).some(({ takesPods }) => takesPods),
      "what was said last holds",
    );
  });

  it("are not signed where a write that came late has given the room away", async () => {
    const proposal = await ask(mallory, { requestId: "a", resources: { cpu: 8 } });
    const late = await SiteKey.generate();
    const terms = { ...proposal.terms, id: "c-late", consumer: late.id };
    await client.create(Contract, newObject(Contract, { metadata: { name: "c-late" }, spec: { terms } }));
    await until("it is known", () => provider.store.get("c-late"));
    await assert.rejects(accept(mallory, proposal), /cpu 8 is more than there is/);
    await accept(late, { ...proposal, terms });
  });

  it("are not signed by an agent that thinks it leads, when another has let them go", async () => {
    const second = await agent().start();
    try {
      const proposal = await ask(mallory, { requestId: "a", resources: { cpu: 8 } }, second);
      const { name = "" } = (await until("both know it", () => provider.store.get(proposal.terms.id))).metadata;
      await client.delete(Contract, { name });
      await assert.rejects(accept(mallory, proposal, second), /stands no longer|has no contract/);
      assert.deepEqual([...live(mallory), ...live(mallory, second)], []);
    } finally {
      await second.kill();
    }
  });

  it("never sum up to more than is shared, however many ask at once of two agents that are killed in between", async () => {
    const random = seeded(20_261_118);
    const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
    const consumers = await Promise.all(Array.from({ length: 10 }, () => SiteKey.generate()));
    const agents = [provider, await agent().start()];
    const proposals: { readonly who: SiteKey; readonly proposal: ContractProposal }[] = [];
    const refusals = new Map<string, number>();
    const replace = async (index: number) => {
      await agents[index]?.kill();
      agents[index] = await agent().start();
    };
    const step = async (round: number): Promise<unknown> => {
      const who = pick(consumers) ?? mallory;
      const of = pick(agents) ?? provider;
      const caller = { id: who.id, publicKey: who.publicKey };
      const old = pick(of.book.of(who.id))?.id;
      const kind = random();
      if (kind < 0.45) {
        const supersedes = old !== undefined && random() < 0.6 ? { supersedes: old } : {};
        const resources = { cpu: 1 + Math.floor(random() * 6) };
        const proposal = await ask(who, { requestId: `r${round}`, resources, ...supersedes }, of);
        proposals.push({ who, proposal });
        return random() < 0.7 ? await accept(who, proposal, pick(agents)) : undefined;
      }
      const known = pick(proposals);
      // Also what was accepted, refused or ended long ago, and what is another's.
      if (kind < 0.7 && known) return await accept(random() < 0.1 ? who : known.who, known.proposal, of);
      if (kind < 0.8 && old) return await of.book.hear(caller, old, random() < 0.5 ? "Ended" : "Cordoned");
      if (kind < 0.9 && old)
        return await client.patch(Contract, { name: old }, "merge", { spec: { standing: "Ended" } });
      if (kind < 0.95) clock.jump(random() * 40_000);
      return undefined;
    };
    for (let round = 0; round < 40; round++) {
      const steps = Array.from({ length: 8 }, (_, index) => step(round * 8 + index));
      if (round % 13 === 12) steps.push(replace(round % 2));
      for (const done of await Promise.allSettled(steps)) {
        if (done.status === "fulfilled") continue;
        const { code = String(done.reason) } = (done.reason as PeerRefused).refusal ?? {};
        refusals.set(code, (refusals.get(code) ?? 0) + 1);
      }
      const now = clock.now();
      const { items } = await client.list(Contract);
      const inForce = items.filter((contract) => isInForce(contract, "Provider", now)).map(({ spec }) => spec.terms);
      // While one takes another's place, the larger of the two counts.
      const lines = new Map<string, number>();
      for (const { id, resources } of inForce) {
        const cpu = Number(amountsOf(resources).get("cpu") ?? 0n) / 1e9;
        lines.set(lineOf(id), Math.max(lines.get(lineOf(id)) ?? 0, cpu));
      }
      const sum = lines.values().reduce((a, b) => a + b, 0);
      assert.ok(sum <= 8, `round ${round}: ${sum} of 8 processors are promised`);
    }
    provider = agents[0] ?? provider;
    await agents[1]?.kill();
    assert.ok((refusals.get("AmountRefused") ?? 0) > 5, JSON.stringify([...refusals]));
    await until("one of each line is in force", () => {
      const lines = consumers.flatMap((who) => live(who).map(lineOf));
      return new Set(lines).size === lines.length;
    });
  });
});

/** What contracts have in common that take each other's place. */
function lineOf(id: string): string {
  return id.split("-", 2).join("-");
}

/** Numbers between 0 and 1 that are the same in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
