import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LinkRates } from "./link-rates.ts";

describe("What links carry in a second", () => {
  const bytes = (receivedBytes: number, sentBytes: number) => ({ receivedBytes, sentBytes });

  it("is known from the second time on, of each link by itself, since it was last told", () => {
    const rates = new LinkRates();
    assert.equal(rates.of("a", bytes(1000, 10), 0), undefined);
    rates.told("a", bytes(1000, 10), 0);
    assert.equal(rates.of("a", bytes(1000, 10), 0), undefined, "in no time nothing is known");
    assert.deepEqual(rates.of("a", bytes(6000, 20), 10_000), { receivedPerSecond: 500, sentPerSecond: 1 });
    assert.deepEqual(rates.of("a", bytes(11_000, 30), 20_000), { receivedPerSecond: 500, sentPerSecond: 1 });
    assert.equal(rates.of("b", bytes(1, 1), 20_000), undefined);
  });

  it("is never below nothing where WireGuard has begun to count anew", () => {
    const rates = new LinkRates();
    rates.told("a", bytes(1_000_000, 1_000_000), 0);
    assert.deepEqual(rates.of("a", bytes(2000, 1_500_000), 1000), {
      receivedPerSecond: 2000,
      sentPerSecond: 1_500_000,
    });
  });
});
