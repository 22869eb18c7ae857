import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { siteIdOf } from "../../identity/index.ts";
import { checkRefusal, checkSiteReport, ReportMalformed } from "./report-check.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const contract = { id: "c-1", phase: "Active", standing: "Open", tenantReady: true } as const;
const whole = {
  id,
  published: {
    name: "lively-wave",
    tier: "edge",
    location: { region: "north", zone: "n1", latitude: 60.4, longitude: 5.3 },
    properties: { "example.com/gpu": "yes", quiet: "" },
    architectures: ["amd64", "arm64"],
    operatingSystems: ["linux"],
    loopbackRanges: ["127.88.0.0/16"],
    version: "0.1.0",
    kubernetesVersion: "v1.36.1",
  },
  endpoints: ["https://wave.example:7443"],
  shared: { cpu: "8", memory: "16Gi" },
  free: { cpu: 4, memory: "1.5e3" },
  guestPrivileges: ["hostPath"],
  contracts: [{ ...contract, endReason: "Revoked", limit: { cpu: "500m" } }],
  network: {
    publicKey: `${"Ab+/".repeat(10)}Abc=`,
    endpoints: ["wave.example:51820"],
    ranges: ["10.42.0.0/16"],
    names: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
  },
  networkHeard: "abcdefghijklmnopqrstu-",
};
const bare = { id, published: {}, endpoints: [], contracts: [] };

describe("the report of a peer", () => {
  test("is taken as it is where all of it is well", () => {
    assert.deepEqual(checkSiteReport(whole, id), whole);
    assert.deepEqual(checkSiteReport(bare, id), bare);
  });

  test("has a key only where the id is derived from it", () => {
    const publicKey = Buffer.alloc(32, 7).toString("base64");
    const own = siteIdOf(Buffer.alloc(32, 7));
    assert.equal(checkSiteReport({ ...bare, id: own, publicKey }, own).publicKey, publicKey);
    for (const wrong of [Buffer.alloc(32, 8).toString("base64"), `${publicKey}\n`, publicKey.slice(1), 7, null])
      assert.deepEqual(checkSiteReport({ ...bare, id: own, publicKey: wrong }, own), { ...bare, id: own });
  });

  test("has nothing in it that we do not know", () => {
    const more = { ...whole, evil: 1, published: { ...whole.published, evil: 2 }, contracts: [{ ...contract, x: 1 }] };
    const checked = checkSiteReport(more, id);
    assert.deepEqual(checked, { ...whole, contracts: [contract] });
  });

  const facts: Record<string, unknown> = {
    name: ["a".repeat(64), "", 1, "two\nlines", "\u0000", ["x"]],
    tier: ["moon", 1],
    location: [
      "here",
      [],
      { region: "No Where" },
      { latitude: 91, longitude: 0 },
      { latitude: 1 },
      { zone: "a".repeat(64) },
    ],
    architectures: ["amd64", { 0: "x" }],
    version: ["1".repeat(65), { toString: "x" }],
  };
  for (const [name, values] of Object.entries(facts)) {
    for (const value of values as unknown[]) {
      test(`leaves out a ${name} such as ${JSON.stringify(value).slice(0, 40)}`, () => {
        assert.deepEqual(checkSiteReport({ ...bare, published: { [name]: value } }, id).published, {});
      });
    }
  }

  test("has no properties that could not be labels, and not too many", () => {
    const properties = { "a b": "x", "good/one": "y", bad: "a\nb", long: "x".repeat(64), "-x": "y", n: 1, "": "z" };
    const checked = checkSiteReport({ ...bare, published: { properties } }, id);
    assert.deepEqual(checked.published.properties, { "good/one": "y" });
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`p${i}`, "x"]));
    const few = checkSiteReport({ ...bare, published: { properties: many } }, id).published.properties;
    assert.equal(Object.keys(few ?? {}).length, 64);
  });

  test("names only endpoints that are some", () => {
    const endpoints = ["https://a:1", "http://b", "javascript:x", 1, `https://${"x".repeat(300)}`];
    assert.deepEqual(checkSiteReport({ ...bare, endpoints }, id).endpoints, ["https://a:1"]);
  });

  const malformed: unknown[] = [
    undefined,
    null,
    [],
    "report",
    { ...bare, id: "another" },
    { ...bare, contracts: undefined },
    { ...bare, contracts: {} },
    { ...bare, contracts: Array.from({ length: 1025 }, () => contract) },
    { ...bare, contracts: [null] },
    { ...bare, contracts: [{ ...contract, id: "../x" }] },
    { ...bare, contracts: [{ ...contract, phase: "Done" }] },
    { ...bare, contracts: [{ ...contract, standing: "open" }] },
    { ...bare, contracts: [{ ...contract, tenantReady: "yes" }] },
    { ...bare, contracts: [{ ...contract, limit: { cpu: "-1" } }] },
    { ...bare, shared: { cpu: "lots" } },
    { ...bare, free: { "c p u": "1" } },
    { ...bare, free: { cpu: "9".repeat(40) } },
    { ...bare, free: { cpu: Number.POSITIVE_INFINITY } },
    { ...bare, free: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`r${i}`, "1"])) },
  ];
  for (const value of malformed) {
    test(`is not believed where it is ${(JSON.stringify(value) ?? "undefined").slice(0, 60)}`, () => {
      assert.throws(() => checkSiteReport(value, id), ReportMalformed);
    });
  }

  test("whatever a peer sends, it is a report or refused, and a report passes again unchanged", () => {
    const part = fc.anything({ maxDepth: 3 });
    const report = fc.record({
      id: fc.constant(id),
      published: part,
      endpoints: part,
      contracts: fc.array(part),
      free: part,
      network: part,
      networkHeard: part,
    });
    fc.assert(
      fc.property(report, (value) => {
        try {
          const checked = checkSiteReport(value, id);
          assert.deepEqual(checkSiteReport(structuredClone(checked), id), checked);
        } catch (error) {
          assert.ok(error instanceof ReportMalformed, String(error));
        }
      }),
    );
  });
});

describe("the refusal of a peer", () => {
  test("is a word, a line of text, and amounts", () => {
    const refusal = { code: "AmountRefused", message: "too much", available: { cpu: "1" } };
    assert.deepEqual(checkRefusal(refusal, 409), refusal);
    assert.deepEqual(checkRefusal(undefined, 502), { code: "Status502", message: "the site answered 502" });
    const hostile = { code: "no such word", message: "\u001b[2Jgone\n", available: { cpu: "all of it" } };
    assert.deepEqual(checkRefusal(hostile, 403), { code: "Status403", message: " [2Jgone " });
    assert.equal(checkRefusal({ message: "x".repeat(9999) }, 403).message.length, 1024);
  });
});
