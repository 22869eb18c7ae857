import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Contract, newObject } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import fc from "fast-check";
import { HELD_MS, type Standing } from "../protocol.ts";
import {
  endedStatus,
  endOf,
  isClosedStill,
  isInForce,
  isPromise,
  KEPT_MS,
  lifeStatus,
  nextMoment,
  phaseOf,
  type Side,
  standingOf,
} from "./contract-life.ts";

const consumer = "a".repeat(26);
const provider = "b".repeat(26);
const begin = Date.parse("2030-01-01T00:00:00Z");
const hour = 3_600_000;
const signatures = [consumer, provider].map((site) => ({ site, value: `${"A".repeat(86)}==` }));

function contract(status: Contract["status"] = {}, standing: Standing = "Open"): Contract {
  const terms = {
    id: "c-1",
    consumer,
    provider,
    resources: { cpu: 1 },
    notBefore: new Date(begin).toISOString(),
    notAfter: new Date(begin + 3 * hour).toISOString(),
    enforcement: "None" as const,
  };
  return { ...newObject(Contract, { metadata: { name: "c-1", generation: 1 }, spec: { terms, standing } }), status };
}
const signed = (status: Contract["status"] = {}, standing?: Standing) => contract({ signatures, ...status }, standing);
const reasonOf = (of: Contract, side: Side, now: number, type: "Signed" | "Active" | "Expiring" | "Ended") =>
  getCondition(lifeStatus(of, side, now).conditions, type)?.reason;

describe("the life of a contract", () => {
  it("goes from proposed to active, expiring and ended", () => {
    assert.equal(phaseOf(contract(), "Provider", begin), "Proposed");
    assert.equal(phaseOf(signed(), "Provider", begin), "Active");
    assert.equal(phaseOf(signed(), "Provider", begin + 2 * hour - 1), "Active");
    assert.equal(phaseOf(signed(), "Provider", begin + 2 * hour), "Expiring");
    assert.equal(phaseOf(signed(), "Provider", begin + 3 * hour - 1), "Expiring");
    assert.equal(phaseOf(signed(), "Provider", begin + 3 * hour), "Ended");
  });

  it("is by the provider's clock, and noted so at a consumer whose own is off", () => {
    for (const seconds of [-600, 600]) {
      const noted = signed({ clockAhead: seconds });
      const here = begin - seconds * 1_000;
      assert.equal(phaseOf(noted, "Consumer", here + 2 * hour - 1), "Active");
      assert.equal(phaseOf(noted, "Consumer", here + 2 * hour), "Expiring");
      assert.equal(endOf(noted, "Consumer", here + 3 * hour - 1), undefined);
      assert.equal(endOf(noted, "Consumer", here + 3 * hour), "Expired");
      assert.equal(nextMoment(noted, "Consumer", here), here + 2 * hour);
    }
  });

  it("holds a proposal for as long as it was promised, and no longer", () => {
    assert.ok(isPromise(contract(), begin + HELD_MS - 1));
    assert.ok(!isPromise(contract(), begin + HELD_MS));
    assert.ok(isPromise(signed(), begin + HELD_MS));
  });

  it("stays closed by its provider when it ends without them, and by nobody else", () => {
    const cancelled = { peerStanding: "Ended" } as const;
    for (const standing of ["Cordoned", "Drained"] as const) {
      assert.ok(!isClosedStill(signed({}, standing), begin));
      assert.ok(isClosedStill(signed(cancelled, standing), begin));
      assert.ok(isClosedStill(signed({}, standing), begin + 3 * hour));
      const superseded = signed({}, standing);
      const status = endedStatus(superseded, "Provider", begin, "Superseded");
      assert.ok(!isClosedStill({ ...superseded, status }, begin));
    }
    assert.ok(!isClosedStill(signed(cancelled), begin));
    assert.ok(!isClosedStill(signed({}, "Ended"), begin));
    assert.ok(!isClosedStill(signed({ peerStanding: "Cordoned" }), begin + 3 * hour));
  });

  it("is ended by either owner, each in its own word", () => {
    assert.equal(endOf(signed({}, "Ended"), "Provider", begin), "Revoked");
    assert.equal(endOf(signed({}, "Ended"), "Consumer", begin), "Cancelled");
    assert.equal(endOf(signed({ peerStanding: "Ended" }), "Provider", begin), "Cancelled");
    assert.equal(endOf(signed({ peerStanding: "Ended" }), "Consumer", begin), "Revoked");
  });

  it("keeps the reason that it ended for first", () => {
    const revoked = { ...signed({}, "Ended") };
    const later = { ...revoked, status: lifeStatus(revoked, "Provider", begin) };
    assert.equal(endOf(later, "Provider", begin + 9 * hour), "Revoked");
    const superseded = { ...signed(), status: endedStatus(signed(), "Provider", begin, "Superseded") };
    assert.equal(endOf(superseded, "Provider", begin + 9 * hour), "Superseded");
    assert.equal(superseded.status.phase, "Ended");
    assert.equal(nextMoment(superseded, "Provider", begin), begin + 5_000);
    assert.equal(nextMoment(later, "Provider", begin), begin + KEPT_MS);
  });

  it("is cordoned or drained where either side wants it", () => {
    assert.equal(standingOf(signed({ peerStanding: "Drained" }, "Cordoned")), "Drained");
    assert.equal(reasonOf(signed({ peerStanding: "Cordoned" }), "Consumer", begin, "Active"), "Cordoned");
    assert.equal(reasonOf(signed({}, "Drained"), "Provider", begin, "Active"), "Drained");
    assert.equal(reasonOf(signed(), "Provider", begin, "Active"), "InForce");
    assert.equal(reasonOf(contract(), "Provider", begin, "Active"), "NotSigned");
    assert.equal(reasonOf(contract(), "Provider", begin, "Signed"), "AwaitingConsumer");
    assert.equal(reasonOf(signed(), "Consumer", begin - hour, "Active"), "NotBegun");
  });

  it("never comes back to life, and always has a next moment that is later", () => {
    const standing = fc.constantFrom<Standing>("Open", "Cordoned", "Drained", "Ended");
    const times = fc.array(fc.integer({ min: 0, max: 5 * hour }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        standing,
        standing,
        times,
        fc.constantFrom<Side>("Consumer", "Provider"),
        (own, peer, offsets, side) => {
          let current = signed({ peerStanding: peer }, own);
          let wasOver = false;
          for (const now of offsets.sort((a, b) => a - b).map((offset) => begin + offset)) {
            const over = !isInForce(current, side, now);
            assert.ok(!wasOver || over);
            wasOver = over;
            current = { ...current, status: lifeStatus(current, side, now) };
            const again = { ...current, status: lifeStatus(current, side, now) };
            assert.deepEqual(again.status, current.status, "to say it twice changes nothing");
            assert.ok(over || nextMoment(current, side, now) > now);
          }
        },
      ),
    );
  });
});
