import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { planReason } from "../address-plan.ts";
import { parseCidrs } from "../ranges.ts";
import { checkLoopbackFacts, type LoopbackNetwork, loopbackFactsOf, loopbackRanges, proxyPlan } from "./proxy-plan.ts";

const networkOf = (second: number): LoopbackNetwork => ({
  pods: parseCidrs([`127.${second}.0.0/22`]),
  standIns: parseCidrs([`127.${second}.128.0/17`]),
});
const [HOME, WAVE, WOOD] = ["home", "wave", "wood"];

describe("names of pods that are processes", () => {
  it("are agreed on by two sites, in whatever order they speak, and kept", () => {
    const first = proxyPlan({
      site: WAVE,
      own: networkOf(88),
      others: [],
      facts: { ranges: ["127.89.0.0/22"], names: [] },
    });
    assert.equal(planReason(first), "AwaitingPeer");
    const theirs = proxyPlan({ site: HOME, own: networkOf(89), others: [], facts: loopbackFactsOf(first) });
    const mine = proxyPlan({
      site: WAVE,
      own: networkOf(88),
      others: [],
      before: first,
      facts: loopbackFactsOf(theirs),
    });
    assert.deepEqual(mine, {
      site: WAVE,
      carrier: "Proxy",
      own: [{ range: "127.88.0.0/22", called: "127.89.128.0/22" }],
      peer: [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }],
    });
    assert.equal(planReason(mine), "NamesKnown");
    // One that is silent has said what it has said.
    assert.deepEqual(proxyPlan({ site: WAVE, own: networkOf(88), others: [], before: mine }), mine);
  });

  it("are never given twice", () => {
    const facts = { ranges: ["127.89.0.0/22"], names: [] };
    const first = proxyPlan({ site: WAVE, own: networkOf(88), others: [], facts });
    const second = proxyPlan({ site: WOOD, own: networkOf(88), others: [first], facts });
    assert.deepEqual(second.peer, [{ range: "127.89.0.0/22", called: "127.88.132.0/22" }]);
    // What another one has been given meanwhile is not kept.
    assert.deepEqual(
      proxyPlan({ site: WOOD, own: networkOf(88), others: [second], before: { ...second, site: WOOD }, facts }).peer,
      [{ range: "127.89.0.0/22", called: "127.88.128.0/22" }],
    );
  });

  it("lead two peers to each other's pods through this site, and no further", () => {
    const wood = proxyPlan({
      site: WOOD,
      own: networkOf(88),
      others: [],
      facts: { ranges: ["127.90.0.0/22", "127.90.128.0/22"], names: [] },
    });
    const wave = proxyPlan({
      site: WAVE,
      own: networkOf(88),
      others: [wood],
      facts: { ranges: ["127.89.0.0/22"], names: [] },
    });
    assert.deepEqual(
      wave.own.map(({ range }) => range),
      ["127.88.0.0/22", wood.peer[0]?.called],
    );
  });

  it("are left out where no place is left, which is said", () => {
    const own = { pods: parseCidrs(["127.88.0.0/24"]), standIns: [] };
    const plan = proxyPlan({ site: WAVE, own, others: [], facts: { ranges: ["127.89.0.0/22"], names: [] } });
    assert.deepEqual(plan.peer, [{ range: "127.89.0.0/22" }]);
    assert.equal(planReason(plan), "PoolExhausted");
  });

  it("stand for nothing but pods on loopback, however many a peer claims", () => {
    const none = [
      "10.0.0.0/24",
      "127.0.0.0/24",
      "127.0.1.0/24",
      "127.89.0.0/16",
      "0.0.0.0/0",
      "::1/128",
      "127.89.0.1/32",
      "x",
    ];
    for (const range of none) assert.deepEqual(loopbackRanges([range]), [], range);
    const many = Array.from({ length: 100 }, (_, index) => `127.89.${index}.0/24`);
    assert.equal(loopbackRanges(many).length, 8);
    assert.equal(loopbackRanges(["127.89.0.0/22", "127.89.1.0/24"]).length, 1);
  });
});

describe("what a peer says of loopback", () => {
  it("is taken where all of it is right", () => {
    const facts = { ranges: ["127.89.0.0/22"], names: [{ range: "127.88.0.0/22", called: "127.89.128.0/22" }] };
    assert.deepEqual(checkLoopbackFacts({ ...facts, more: 1 }), facts);
  });

  it("is not believed at all where any of it is wrong", () => {
    const names = [{ range: "127.88.0.0/22", called: "127.89.128.0/22" }];
    for (const value of [
      undefined,
      null,
      "x",
      [],
      { ranges: [], names: null },
      { ranges: ["10.0.0.0/22"], names: [] },
      { ranges: [7], names: [] },
      { ranges: ["127.0.0.0/22"], names: [] },
      { ranges: [], names: [{ range: "127.88.0.0/22", called: "127.0.0.0/22" }] },
      { ranges: [], names: [{ range: "127.88.0.0/22", called: "127.89.0.0/24" }] },
      { ranges: [], names: [null] },
      { ranges: [], names: Array.from({ length: 65 }, () => names[0]) },
    ])
      assert.equal(checkLoopbackFacts(value), undefined, JSON.stringify(value));
  });
});
