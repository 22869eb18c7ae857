import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, TwinNamespace } from "@fjord/api";
import fc from "fast-check";
import { isUsable, type TwinFacts, twinStep } from "./twin-step.ts";

const NAME = "shop-twin";

function request(wantedName = NAME, more: object = {}): TwinNamespace {
  const object = newObject(TwinNamespace, {
    metadata: { name: "shop", namespace: "fjord-tenant-a", ...more },
    spec: { originNamespace: "shop", wantedName },
  });
  return object;
}

const ending = () => request(NAME, { deletionTimestamp: "2026-01-01T00:00:00Z" });
const facts = (more: Partial<TwinFacts>): TwinFacts => ({
  site: "a",
  wanted: true,
  inForce: true,
  reachable: true,
  known: true,
  request: undefined,
  hasPods: false,
  name: NAME,
  ...more,
});

describe("what is done about a twin", () => {
  const cases: readonly [string, Partial<TwinFacts>, ReturnType<typeof twinStep>][] = [
    ["it is asked for", {}, "create"],
    ["it is there", { request: request() }, "wait"],
    ["the site does not answer", { reachable: false }, "wait"],
    ["what the site has is not known yet", { known: false }, "wait"],
    ["an earlier one is being removed", { request: ending() }, "wait"],
    ["it has another name than it is to have", { request: request("other") }, "delete"],
    ["it has another name, and pods", { request: request("other"), hasPods: true }, "wait"],
    ["there is no contract", { inForce: false }, "wait"],
    ["it is no longer wanted", { wanted: false, request: request() }, "delete"],
    ["it is no longer wanted and has pods", { wanted: false, request: request(), hasPods: true }, "wait"],
    ["it is no longer wanted, and being removed", { wanted: false, request: ending() }, "wait"],
    ["it is no longer wanted, and the site is away", { wanted: false, request: request(), reachable: false }, "wait"],
    ["it is no longer wanted, and gone", { wanted: false }, "forget"],
    ["it is no longer wanted, and nobody knows", { wanted: false, known: false }, "wait"],
    [
      "it is no longer wanted, and the contract has ended",
      { wanted: false, inForce: false, request: request() },
      "forget",
    ],
  ];
  for (const [when, given, step] of cases)
    it(`${step}s when ${when}`, () => assert.equal(twinStep(facts(given)), step));

  const anyFacts = fc.record({
    site: fc.constant("a"),
    wanted: fc.boolean(),
    inForce: fc.boolean(),
    reachable: fc.boolean(),
    known: fc.boolean(),
    request: fc.constantFrom(undefined, request(), request("other"), ending()),
    hasPods: fc.boolean(),
    name: fc.constant(NAME),
  });

  it("never asks a site without a contract, or one that is away", () => {
    fc.assert(
      fc.property(anyFacts, (any) => {
        const step = twinStep(any);
        if (!any.inForce || !any.reachable) assert.ok(step !== "create" && step !== "delete");
      }),
    );
  });

  it("never takes a twin from under its pods, nor twice", () => {
    fc.assert(
      fc.property(anyFacts, (any) => {
        if (any.hasPods || any.request?.metadata.deletionTimestamp) assert.notEqual(twinStep(any), "delete");
      }),
    );
  });
});

describe("a twin", () => {
  const told = (namespace: string, status: "True" | "False" = "True"): TwinNamespace => ({
    ...request(),
    status: {
      namespace,
      conditions: [
        { type: "Ready", status, reason: "NamespaceMade", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
      ],
    },
  });

  it("is used under the name that was asked for and no other", () => {
    assert.equal(isUsable({ request: told(NAME), name: NAME }), true);
    assert.equal(isUsable({ request: told("kube-system"), name: NAME }), false);
    assert.equal(isUsable({ request: told(NAME, "False"), name: NAME }), false);
    assert.equal(isUsable({ request: undefined, name: NAME }), false);
  });
});
