import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AddressPlan } from "@fjord/api";
import fc from "fast-check";
import { addressPlan, calledRanges, factsOf, planReason } from "./address-plan.ts";
import { overlaps } from "./ip-range.ts";
import { checkNetworkFacts } from "./network-facts.ts";
import type { OwnNetwork } from "./own-network.ts";
import { parseCidrs } from "./ranges.ts";
import { calledHere, calledThere } from "./translate.ts";

type Spec = AddressPlan["spec"];
const KEY = `${"Ab+/".repeat(10)}Abc=`;
const networkOf = (
  ranges: string[],
  services: string[] = [],
  names = ["240.0.0.0/5", "fd66:6a6f::/32"],
): OwnNetwork => ({
  ranges: parseCidrs(ranges),
  taken: parseCidrs([...ranges, ...services]),
  pools: parseCidrs(names),
  endpoints: [],
  lanes: [],
  machines: [],
  port: 51820,
});

/** One side of a pair: it hears the other's word now and then, and may forget all but its plan in between. */
class Side {
  network: OwnNetwork;
  plan: Spec | undefined;
  readonly #site: string;
  readonly #others: string[];

  constructor(site: string, network: OwnNetwork, others: string[] = []) {
    this.#site = site;
    this.network = network;
    this.#others = others;
  }

  hear(other: Side | undefined): void {
    // As a report: through JSON, and checked.
    const told = other?.plan && factsOf(other.plan, { publicKey: KEY, endpoints: [] });
    const facts = checkNetworkFacts(JSON.parse(JSON.stringify(told ?? null)));
    this.plan = addressPlan({
      site: this.#site,
      own: this.network,
      others: parseCidrs(this.#others),
      ...(facts && { facts }),
      ...(this.plan && { before: this.plan }),
    });
  }

  get reason() {
    return this.plan && planReason(this.plan);
  }
}

function agree(one: Side, other: Side, order: readonly boolean[] = [true, false, true, false, true, false]): void {
  for (const isOne of order) (isOne ? one : other).hear(isOne ? other : one);
}

describe("two sites' address plans", () => {
  it("translate both sides where both have the same range", () => {
    const [one, other] = [new Side("b", networkOf(["10.42.0.0/16"])), new Side("a", networkOf(["10.42.0.0/16"]))];
    agree(one, other);
    assert.deepEqual([one.reason, other.reason], ["NamesKnown", "NamesKnown"]);
    assert.deepEqual(one.plan, {
      site: "b",
      own: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
      peer: [{ range: "10.42.0.0/16", called: "240.1.0.0/16" }],
    });
  });

  it("translate nothing where nothing overlaps", () => {
    const [one, other] = [new Side("b", networkOf(["10.42.0.0/16"])), new Side("a", networkOf(["10.44.0.0/16"]))];
    agree(one, other);
    assert.equal(calledHere(one.plan as Spec, "10.44.1.1"), "10.44.1.1");
    assert.equal(calledThere(one.plan as Spec, "10.42.1.1"), "10.42.1.1");
  });

  it("translate on one side only where only that one is in the way", () => {
    const one = new Side("b", networkOf(["10.42.0.0/16"]));
    const other = new Side("a", networkOf(["10.44.0.0/16"], ["10.42.0.0/20"]));
    agree(one, other);
    assert.equal(calledHere(one.plan as Spec, "10.44.1.1"), "10.44.1.1");
    assert.equal(calledThere(one.plan as Spec, "10.42.1.1"), "240.0.1.1");
    assert.equal(calledHere(other.plan as Spec, "10.42.1.1"), "240.0.1.1");
  });

  it("hold two families, and several ranges of one", () => {
    const ranges = ["10.42.0.0/16", "10.43.0.0/16", "fd00:42::/56"];
    const [one, other] = [new Side("b", networkOf(ranges)), new Side("a", networkOf(ranges))];
    agree(one, other);
    assert.equal(one.reason, "NamesKnown");
    const called = ["10.42.9.9", "10.43.9.9", "fd00:42::9"].map((address) => calledHere(one.plan as Spec, address));
    assert.deepEqual(called, ["240.2.9.9", "240.3.9.9", "fd66:6a6f:0:100::9"]);
  });

  it("wait for a peer that has said nothing", () => {
    const one = new Side("b", networkOf(["10.42.0.0/16"]));
    one.hear(undefined);
    assert.equal(one.reason, "AwaitingPeer");
    assert.deepEqual(one.plan?.own, [{ range: "10.42.0.0/16" }]);
  });

  it("say so where a site does not know its own ranges, or has no names left", () => {
    const one = new Side("b", networkOf([]));
    const other = new Side("a", networkOf(["10.42.0.0/16"], [], []));
    agree(one, other);
    assert.equal(one.reason, "RangesUnknown");
    agree(new Side("b", networkOf(["10.42.0.0/16"])), other);
    assert.equal(other.reason, "PoolExhausted");
  });

  it("stay while a peer is silent", () => {
    const [one, other] = [new Side("b", networkOf(["10.42.0.0/16"])), new Side("a", networkOf(["10.42.0.0/16"]))];
    agree(one, other);
    const before = one.plan;
    one.hear(undefined);
    assert.deepEqual(one.plan, before);
  });

  it("keep clear of what other peers are called", () => {
    const one = new Side("b", networkOf(["10.42.0.0/16"]), ["240.0.0.0/16"]);
    const other = new Side("a", networkOf(["10.42.0.0/16"]));
    agree(one, other);
    assert.equal(calledHere(one.plan as Spec, "10.42.0.1"), "240.1.0.1");
    assert.equal(calledThere(other.plan as Spec, "10.42.0.1"), "240.1.0.1");
  });

  it("follow a range that is added, and keep the names of those that were there", () => {
    const [one, other] = [new Side("b", networkOf(["10.42.0.0/16"])), new Side("a", networkOf(["10.42.0.0/16"]))];
    agree(one, other);
    one.network = networkOf(["10.41.0.0/16", "10.42.0.0/16"]);
    agree(one, other);
    assert.deepEqual([one.reason, other.reason], ["NamesKnown", "NamesKnown"]);
    assert.equal(calledThere(one.plan as Spec, "10.42.0.1"), "240.0.0.1");
    assert.equal(calledThere(one.plan as Spec, "10.41.0.1"), "10.41.0.1");
  });

  const range = fc
    .record({
      second: fc.integer({ min: 0, max: 3 }),
      third: fc.integer({ min: 0, max: 255 }),
      length: fc.integer({ min: 14, max: 24 }),
    })
    .map(({ second, third, length }) => `10.${second}.${third}.0/${length}`);
  const ranges = fc.array(range, { minLength: 1, maxLength: 3 });
  const network = fc.tuple(ranges, ranges).map(([pods, services]) => networkOf(apart(pods), services));
  const order = fc.array(fc.boolean(), { maxLength: 8 });

  it("come to an end in any order, with names on which both agree and which hide nothing", () => {
    fc.assert(
      fc.property(network, network, network, order, order, (first, second, later, some, more) => {
        const [one, other] = [new Side("b", first), new Side("a", second)];
        agree(one, other, some);
        one.network = later;
        agree(one, other, more);
        agree(one, other);
        for (const [here, there] of [
          [one, other],
          [other, one],
        ] as const) {
          assert.equal(here.reason, "NamesKnown");
          assert.deepEqual(here.plan?.own, there.plan?.peer);
          const called = calledRanges(here.plan as Spec);
          assert.ok(!called.some((each) => here.network.taken.some((taken) => overlaps(taken, each))));
        }
        const settled = [one.plan, other.plan];
        agree(one, other);
        assert.deepEqual([one.plan, other.plan], settled);
      }),
    );
  });
});

/** The ranges of a site's pods never overlap. */
function apart(texts: string[]): string[] {
  const kept: string[] = [];
  for (const text of texts) {
    const [range] = parseCidrs([text]);
    if (range !== undefined && !parseCidrs(kept).some((each) => overlaps(each, range))) kept.push(text);
  }
  return kept;
}
