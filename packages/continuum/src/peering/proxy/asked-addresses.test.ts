import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askedAddresses } from "./asked-addresses.ts";

describe("what an EndpointSlice leads to", () => {
  const cases: [unknown, string[]][] = [
    [{}, []],
    [{ endpoints: null }, []],
    [{ endpoints: [] }, []],
    [{ endpoints: [{}] }, []],
    [{ endpoints: [{ addresses: null }] }, []],
    [{ endpoints: [{ addresses: ["10.0.0.1"] }] }, ["10.0.0.1"]],
    [{ endpoints: [{ addresses: ["a", "b"] }, { addresses: ["c"], conditions: { ready: false } }] }, ["a", "b", "c"]],
    [{ metadata: { labels: {} } }, []],
  ];
  for (const [slice, addresses] of cases)
    test(JSON.stringify(slice), () => assert.deepEqual(askedAddresses(slice), addresses));

  for (const slice of [
    { endpoints: {} },
    { endpoints: { 0: { addresses: ["10.0.0.1"] } } },
    { endpoints: "x" },
    { endpoints: ["10.0.0.1"] },
    { endpoints: [null] },
    { endpoints: [["10.0.0.1"]] },
    { endpoints: [{ addresses: "10.0.0.1" }] },
    { endpoints: [{ addresses: { 0: "10.0.0.1" } }] },
    { endpoints: [{ addresses: [167772161] }] },
    { endpoints: [{ addresses: [["10.0.0.1"]] }] },
  ])
    test(`cannot be read in ${JSON.stringify(slice)}`, () =>
      assert.throws(() => askedAddresses(slice), { status: 400 }));
});
