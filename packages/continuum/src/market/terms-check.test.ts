import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { PeerRefused } from "../peer-refused-error.ts";
import type { Terms } from "../protocol.ts";
import { contractId } from "./contract-id.ts";
import { readReport } from "./report-check.ts";
import { checkedAcceptance, checkedRequest, checkedStanding } from "./request-check.ts";
import { readTerms, wrongWith } from "./terms-check.ts";

const consumer = "a".repeat(26);
const provider = "b".repeat(26);
const now = Date.parse("2030-01-01T00:00:00Z");
const request = { requestId: "r-1", resources: { cpu: 2, memory: "4Gi" } };
const terms: Terms = {
  id: contractId(consumer, "r-1"),
  consumer,
  provider,
  resources: { cpu: "2", memory: "4096Mi" },
  notBefore: "2030-01-01T00:00:00.000Z",
  notAfter: "2030-01-02T00:00:00.000Z",
  enforcement: "None",
};
const asked = { consumer, provider, request };

describe("terms that a provider answers by", () => {
  it("are good where they are what was asked for", () => {
    assert.equal(wrongWith(terms, asked, now), undefined);
  });

  it("may say what only a later version knows, in a few words", () => {
    assert.equal(wrongWith({ ...terms, price: { amount: 3, per: "hour" } } as unknown as Terms, asked, now), undefined);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`word${i}`, i]));
    assert.match(wrongWith({ ...terms, ...many } as Terms, asked, now) ?? "", /does not know/);
    assert.match(wrongWith({ ...terms, "odd name": 1 } as unknown as Terms, asked, now) ?? "", /does not know/);
  });

  const faults: [string, Partial<Record<keyof Terms | "price", unknown>>][] = [
    ["another consumer", { consumer: provider }],
    ["another provider", { provider: consumer }],
    ["another id", { id: "c-other" }],
    ["less than was asked for", { resources: { cpu: 1, memory: "4Gi" } }],
    ["more than was asked for", { resources: { cpu: 3, memory: "4Gi" } }],
    ["a resource that nobody asked for", { resources: { cpu: 2, memory: "4Gi", pods: 1 } }],
    ["another contract to supersede", { supersedes: "c-old" }],
    ["an unknown enforcement", { enforcement: "Strict" }],
    ["an end before the beginning", { notAfter: "2029-01-01T00:00:00.000Z" }],
    ["an end that has passed", { notBefore: "2029-01-01T00:00:00.000Z", notAfter: "2029-12-31T00:00:00.000Z" }],
    ["a beginning in the future", { notBefore: "2030-01-01T12:00:00.000Z" }],
    ["a lifetime of a century", { notAfter: "2130-01-01T00:00:00.000Z" }],
    ["times that are none", { notAfter: "tomorrow" }],
    ["more than a name of what this version does not know", { price: "1".repeat(5_000) }],
    ["properties that are no labels", { properties: { tier: "x".repeat(99) } }],
  ];
  for (const [what, change] of faults) {
    it(`are not signed with ${what}`, () => {
      assert.equal(typeof wrongWith({ ...terms, ...change } as Terms, asked, now), "string");
    });
  }

  it("are none whatever else is sent", () => {
    assert.equal(readTerms(terms), terms);
    fc.assert(fc.property(fc.anything(), (value) => readTerms(value) === undefined));
    assert.equal(readTerms({ ...terms, resources: { cpu: "-1" } }), undefined);
    assert.equal(readTerms({ ...terms, resources: { pods: "1500m" } }), undefined);
    assert.equal(readTerms({ ...terms, id: 7 }), undefined);
  });
});

describe("what a consumer sends", () => {
  it("is taken where it is a request", () => {
    assert.deepEqual(checkedRequest({ ...request, extra: 1 }), request);
    assert.deepEqual(checkedRequest({ ...request, supersedes: "c-1" }), { ...request, supersedes: "c-1" });
    assert.deepEqual(checkedStanding({ standing: "Drained" }), { standing: "Drained" });
  });

  it("is refused where it is anything else, and breaks nothing", () => {
    const isRefused = (read: () => unknown) => {
      try {
        read();
        return false;
      } catch (error) {
        return error instanceof PeerRefused && error.statusCode === 400;
      }
    };
    fc.assert(
      fc.property(fc.anything(), (value) => {
        assert.ok(isRefused(() => checkedRequest(value)));
        assert.ok(isRefused(() => checkedAcceptance(value)));
      }),
    );
    const amounts = [{ cpu: -1 }, { cpu: "1e999" }, { cpu: {} }, { "": 1 }, { "a b": 1 }, { cpu: "9".repeat(40) }, []];
    for (const resources of amounts) assert.ok(isRefused(() => checkedRequest({ ...request, resources })));
    for (const counted of ["pods", "example.com/gpu"]) {
      for (const part of ["1.5", "1500m", 1.5, "2e-1"])
        assert.ok(
          isRefused(() => checkedRequest({ ...request, resources: { [counted]: part } })),
          `${counted} ${part}`,
        );
      for (const whole of [3, "110", "1k"]) checkedRequest({ ...request, resources: { [counted]: whole } });
    }
    const many = Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`r${index}`, 1]));
    assert.ok(isRefused(() => checkedRequest({ ...request, resources: many })));
    assert.ok(isRefused(() => checkedRequest({ ...request, requestId: "../x" })));
    assert.ok(isRefused(() => checkedStanding({ standing: "Closed" })));
  });
});

describe("what a provider reports of a contract", () => {
  const report = { id: "c-1", phase: "Active", standing: "Open", tenantReady: true } as const;

  it("is taken as it is, or not at all", () => {
    assert.deepEqual(readReport(report), report);
    assert.equal(readReport({ ...report, phase: "Odd" as "Active" }), undefined);
    assert.equal(readReport({ ...report, limit: { cpu: "lots" } }), undefined);
    assert.equal(readReport({ ...report, phase: "Ended", endReason: "<script>" })?.endReason, "Revoked");
    fc.assert(fc.property(fc.anything(), (value) => readReport(value as typeof report) === undefined));
  });
});
