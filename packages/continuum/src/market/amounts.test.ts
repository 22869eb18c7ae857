import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { amountsOf, formatAmounts, larger, minus, plus, sameAmounts } from "./amounts.ts";

describe("amounts", () => {
  it("are written as Kubernetes writes them", () => {
    const written = formatAmounts(amountsOf({ cpu: "1.5", memory: "4096Mi", pods: 110, "example.com/gpu": "2" }));
    assert.deepEqual(written, { cpu: "1500m", memory: "4Gi", pods: "110", "example.com/gpu": "2" });
    assert.deepEqual(formatAmounts(amountsOf({ memory: "0.1" })), { memory: "100m" });
    assert.deepEqual(formatAmounts(amountsOf({ memory: 0, cpu: "1n" })), { memory: "0", cpu: "1n" });
  });

  it("are the same however they are written", () => {
    assert.ok(sameAmounts(amountsOf({ cpu: 1, memory: "1Gi" }), amountsOf({ cpu: "1000m", memory: "1024Mi" })));
    assert.ok(!sameAmounts(amountsOf({ cpu: 1 }), amountsOf({ cpu: 1, memory: 0 })));
  });

  it("survive being written and read", () => {
    const quantity = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("cpu", "memory", "pods"), quantity), (given) => {
        const amounts = new Map(Object.entries(given));
        const again = amountsOf(formatAmounts(amounts));
        assert.ok(sameAmounts(again, amounts));
      }),
    );
  });

  it("add up and are taken away again", () => {
    const some = fc.record({ cpu: fc.nat(), memory: fc.nat() }).map(amountsOf);
    fc.assert(
      fc.property(some, some, (a, b) => {
        assert.ok(sameAmounts(minus(plus(a, b), b), a));
        assert.ok(sameAmounts(larger(a, b), larger(b, a)));
      }),
    );
  });

  it("beyond what Kubernetes can count are as much as it can", () => {
    assert.deepEqual(formatAmounts(amountsOf({ pods: "9e99" })), { pods: "9223372036854775807" });
  });
});
