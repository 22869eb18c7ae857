import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Site, type SpecDraftOf } from "@fjord/api";
import fc from "fast-check";
import { amountsOf, covers } from "./amounts.ts";
import { contractId, lineOf } from "./contract-id.ts";
import { decide, freeOf, type Promised, promised, type Sharing } from "./decide.ts";

const [ana, bob, eve] = ["a", "b", "e"].map((letter) => letter.repeat(26)) as [string, string, string];

function policy(draft: SpecDraftOf<typeof Site>["sharing"]): Sharing {
  const { sharing } = newObject(Site, { metadata: { name: "own" }, spec: { sharing: draft } }).spec;
  return sharing as Sharing;
}

const sharing = policy({ resources: { cpu: 4, memory: "8Gi" }, perConsumer: { cpu: 3 } });
const promise = (consumer: string, resources: Promised["resources"], id = "c-1"): Promised => ({
  id,
  consumer,
  resources,
});

describe("what a provider grants", () => {
  const ask = (resources: Promised["resources"], promises: Promised[] = [], supersedes?: Promised) =>
    decide({ sharing, promises, consumer: ana, resources, ...(supersedes && { supersedes }) });
  const codeOf = (decision: ReturnType<typeof decide>) => (decision.granted ? "granted" : decision.refusal.code);

  it("grants what is there, to the last thousandth", () => {
    assert.equal(codeOf(ask({ cpu: 3, memory: "8Gi" })), "granted");
    assert.equal(codeOf(ask({ cpu: "3001m" })), "AmountRefused");
  });

  it("shares nothing without a policy, and nothing with those that it does not list", () => {
    const listed = policy({ resources: { cpu: 4 }, consumers: { accept: "Listed", sites: [bob] } });
    const question = { promises: [], consumer: ana, resources: { cpu: 1 } };
    assert.equal(codeOf(decide({ ...question, sharing: undefined })), "NotSharing");
    assert.equal(codeOf(decide({ ...question, sharing: listed })), "ConsumerRefused");
    assert.equal(codeOf(decide({ ...question, sharing: listed, consumer: bob })), "granted");
  });

  it("refuses in words that mean the same to whoever asked", () => {
    const listed = policy({ resources: { cpu: 4 }, consumers: { accept: "Listed", sites: [bob] } });
    const wrong = [
      decide({ promises: [], consumer: ana, resources: { cpu: 1 }, sharing: undefined }),
      decide({ promises: [], consumer: ana, resources: { cpu: 1 }, sharing: listed }),
      ask({ "example.com/gpu": 1 }),
      ask({ cpu: 1 }, [{ ...promise(ana, { cpu: 1 }), closed: true }]),
    ];
    for (const decision of wrong) {
      assert.ok(!decision.granted);
      assert.match(decision.refusal.message, /the provider/);
      assert.doesNotMatch(decision.refusal.message, /this site|\bhere\b/);
    }
  });

  it("says what would be granted", () => {
    const taken = [promise(ana, { cpu: 2, memory: "1Gi" }), promise(bob, { cpu: "1500m" }, "c-2")];
    const decision = ask({ cpu: 2 }, taken);
    assert.ok(!decision.granted);
    assert.deepEqual(decision.refusal.available, { cpu: "500m", memory: "7Gi" });
    assert.match(decision.refusal.message, /available: cpu 500m, memory 7Gi/);
  });

  it("gives nothing that it does not share, and no nothing", () => {
    assert.equal(codeOf(ask({ "example.com/gpu": 1 })), "AmountRefused");
    assert.equal(codeOf(ask({ cpu: 0 })), "AmountRefused");
    const nothing = ask({ cpu: 0 });
    assert.ok(!nothing.granted && /nothing of cpu is asked for: take it out/.test(nothing.refusal.message));
    assert.equal(codeOf(ask({})), "AmountRefused");
  });

  it("counts a contract and the one that takes its place once", () => {
    const old = promise(ana, { cpu: 3, memory: "8Gi" });
    assert.equal(codeOf(ask({ cpu: 3, memory: "8Gi" }, [old], old)), "granted");
    const renewed = promise(ana, { cpu: 2 }, "c-1-2");
    assert.deepEqual(
      Object.fromEntries(promised([old, renewed])),
      Object.fromEntries(amountsOf({ cpu: 3, memory: "8Gi" })),
    );
  });

  it("gives no more than its owner set for the contract", () => {
    const old = { ...promise(ana, { cpu: 3 }), limit: { cpu: 2 } };
    assert.equal(codeOf(ask({ cpu: "2001m" }, [old], old)), "AmountRefused");
    assert.equal(codeOf(ask({ cpu: 2 }, [old], old)), "granted");
  });

  it("gives no other contract to whom its owner has closed all, and lets those be renewed", () => {
    const [one, two] = [promise(ana, { cpu: 1 }), promise(ana, { cpu: 1 }, "c-2")];
    const closed = { ...one, closed: true };
    assert.equal(codeOf(ask({ cpu: 1 }, [closed])), "ConsumerRefused");
    assert.equal(codeOf(ask({ cpu: 1 }, [closed], closed)), "granted");
    assert.equal(codeOf(ask({ cpu: 1 }, [closed, two])), "granted");
    assert.equal(codeOf(ask({ cpu: 1 }, [{ ...closed, consumer: bob }])), "granted");
  });

  it("gives none to whom its owner has closed what is over now, unless another of theirs is open", () => {
    const after = (promises: Promised[], supersedes?: Promised) =>
      codeOf(
        decide({
          sharing,
          promises,
          consumer: ana,
          resources: { cpu: 1 },
          closedStill: true,
          ...(supersedes && { supersedes }),
        }),
      );
    const open = promise(ana, { cpu: 1 });
    assert.equal(after([]), "ConsumerRefused");
    assert.equal(after([promise(bob, { cpu: 1 })]), "ConsumerRefused");
    assert.equal(after([{ ...open, closed: true }]), "ConsumerRefused");
    assert.equal(after([open]), "granted");
    assert.equal(after([open], open), "granted");
  });

  it("shrinks what was promised before the owner shared less", () => {
    const old = promise(ana, { cpu: 6 });
    assert.equal(codeOf(ask({ cpu: 6 }, [old], old)), "AmountRefused");
    assert.equal(codeOf(ask({ cpu: 3 }, [old], old)), "granted");
  });
});

describe("the law of promises", () => {
  const amount = fc.record({ cpu: fc.integer({ min: 1, max: 4000 }), memory: fc.integer({ min: 1, max: 9000 }) });
  const step = fc.record({
    what: fc.constantFrom("ask", "renew", "renew", "begin", "end", "lapse"),
    consumer: fc.constantFrom(ana, bob, eve),
    which: fc.nat(20),
    amount,
  });

  it("never promises more than is shared, nor to one consumer more than its part, in any order", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let live: (Promised & { signed: boolean })[] = [];
        for (const [index, { what, consumer, which, amount: asked }] of steps.entries()) {
          const resources = { cpu: `${asked.cpu}m`, memory: `${asked.memory}Mi` };
          const chosen = live[which % Math.max(1, live.length)];
          if (what === "ask") grant(consumer, resources);
          if (what === "renew" && chosen?.signed) grant(chosen.consumer, resources, chosen);
          if (what === "begin" && chosen) {
            const line = lineOf(chosen.id);
            live = live.filter((each) => each === chosen || lineOf(each.id) !== line || !each.signed);
            live = live.map((each) => (each === chosen ? { ...each, signed: true } : each));
          }
          if (what === "end" && chosen?.signed) live = live.filter((each) => each !== chosen);
          if (what === "lapse" && chosen && !chosen.signed) live = live.filter((each) => each !== chosen);
          assert.ok(covers(amountsOf(sharing.resources), promised(live)), "more than is shared");
          for (const one of [ana, bob, eve]) {
            const own = live.filter((each) => each.consumer === one);
            assert.ok(covers(amountsOf({ cpu: 3, memory: "8Gi" }), promised(own)), "more than one's part");
          }
          assert.ok(covers(freeOf(sharing, live), new Map()));

          function grant(to: string, wanted: Promised["resources"], supersedes?: Promised): void {
            const question = { sharing, promises: live, consumer: to, resources: wanted };
            const decision = decide({ ...question, ...(supersedes && { supersedes }) });
            const id = contractId(to, String(index), supersedes?.id);
            if (decision.granted) live.push({ id, consumer: to, resources: wanted, signed: false });
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("grants all that it says is available, and nothing beyond", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(bob, eve), amount), { maxLength: 5 }), (others) => {
        const promises = others.map(([consumer, { cpu, memory }], index) =>
          promise(consumer, { cpu: `${cpu}m`, memory: `${memory}Mi` }, `c-${index}`),
        );
        const refused = decide({ sharing, promises, consumer: ana, resources: { cpu: 99 } });
        assert.ok(!refused.granted);
        const available = Object.entries(refused.refusal.available ?? {}).filter(([, each]) =>
          amountsOf({ each }).get("each"),
        );
        if (available.length === 0) return;
        const again = decide({ sharing, promises, consumer: ana, resources: Object.fromEntries(available) });
        assert.ok(again.granted);
      }),
    );
  });
});
