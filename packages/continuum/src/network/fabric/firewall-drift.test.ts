import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fabricOf } from "./fabric.ts";
import { chainDrift, firewallDrift, madeChains } from "./firewall-drift.ts";
import { testState } from "./test-state.ts";

const fabric = fabricOf(testState(0), { interfacePrefix: "fjord" });
const accept = [{ accept: null }];
const drop = [{ drop: null }];

/** The fabric's chains as nft prints them, each with one rule; what is not looked at is left out. */
function objects(rule: (chain: string) => unknown = () => accept, policy = "accept") {
  return [...fabric.table.chains].flatMap(([name, { hook }]) => [
    { chain: { name, handle: 1, ...(hook !== undefined && { type: "filter", hook: "input", prio: 0, policy }) } },
    { rule: { chain: name, handle: 2, expr: rule(name) } },
  ]);
}

function drift(rule?: (chain: string) => unknown, policy?: string): string[] {
  const sets = [...fabric.table.sets].filter(([, text]) => text !== "counter").map(([name]) => ({ set: { name } }));
  const made = madeChains(JSON.stringify({ nftables: objects().map((add) => ({ add })) }));
  return firewallDrift(fabric, made, JSON.stringify({ nftables: [...sets, ...objects(rule, policy)] }));
}

describe("What a firewall is compared with", () => {
  it("is what was made, whatever the kernel has numbered it", () => {
    assert.deepEqual(drift(), []);
  });

  it("differs by a rule that says something else", () => {
    assert.deepEqual(
      drift((chain) => (chain === "rename4" ? drop : accept)),
      ["chain rename4 has other rules"],
    );
  });

  it("is the same in whatever order the kernel has what is in a set of a rule, and another where something else is in it", () => {
    const rule = (...set: unknown[]) => [
      { match: { op: "==", left: { payload: {} }, right: { set } } },
      { drop: null },
    ];
    const [one, other] = [{ concat: ["10.1.0.3", "10.1.0.3"] }, { concat: ["10.1.0.9", "10.1.0.9"] }];
    const made = madeChains(
      JSON.stringify({ nftables: [{ add: { rule: { chain: "self", expr: rule(other, one) } } }] }),
    );
    const drifted = (...set: unknown[]) =>
      chainDrift(
        new Set(["self"]),
        made,
        JSON.stringify({ nftables: [{ rule: { chain: "self", expr: rule(...set) } }] }),
      );
    assert.deepEqual(drifted(one, other), []);
    assert.deepEqual(drifted(one), ["chain self has other rules"]);
  });

  it("differs by what becomes of packets that no rule is about", () => {
    const hooks = [...fabric.table.chains].filter(([, { hook }]) => hook !== undefined);
    assert.deepEqual(
      drift(undefined, "drop"),
      hooks.map(([name]) => `chain ${name} has other rules`),
    );
  });

  it("is nothing where no rule was made", () => {
    assert.deepEqual([...madeChains("")], []);
    const rules = [
      { add: { rule: { chain: "in-b", expr: accept } } },
      { delete: { rule: { chain: "in-a", expr: drop } } },
    ];
    assert.deepEqual([...madeChains(JSON.stringify({ nftables: rules })).keys()], ["in-b"]);
  });
});
