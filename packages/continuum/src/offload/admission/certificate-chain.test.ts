import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { describe, it } from "node:test";
import {
  advanced,
  type CertificateChain,
  LIFETIME_MS,
  lookAgainAfter,
  newPair,
  SETTLE_MS,
  trusted,
} from "./certificate-chain.ts";
import { chainOf, forgeSecret } from "./certificate-secret.ts";

const NAMES = ["10.0.0.1", "fjord-agent.fjord-system.svc"];
const START = Date.parse("2026-01-01T00:00:00Z");

describe("the certificates of admission", () => {
  it("are believed before they are served, and as long as they may be met", async () => {
    let chain: CertificateChain = { current: await newPair(NAMES, START) };
    let believed = trusted(chain);
    const changes: number[] = [];
    for (
      let now = START;
      now < START + 3 * LIFETIME_MS;
      now += chain.next ? lookAgainAfter(chain, now) : 5 * 24 * 3_600_000
    ) {
      const next = await advanced(chain, NAMES, now);
      // An agent that has not heard of the change yet, and an API server that has not.
      assert.ok(trusted(next).includes(chain.current.cert), "what others still serve is believed");
      assert.ok(believed.includes(next.current.cert), "what is served now was believed before");
      const { validFromDate, validToDate } = new X509Certificate(next.current.cert);
      assert.ok(validFromDate.getTime() < now && now < validToDate.getTime());
      if (next.current !== chain.current) changes.push(now);
      chain = next;
      believed = trusted(chain);
    }
    assert.ok(changes.length >= 3, `${changes.length} renewals in three years`);
  });

  it("are not served before API servers had time to hear of them", async () => {
    const first = { current: await newPair(NAMES, START) };
    const late = START + LIFETIME_MS * 0.9;
    const prepared = await advanced(first, NAMES, late);
    assert.equal(prepared.current, first.current);
    assert.ok(prepared.next);
    assert.equal(await advanced(prepared, NAMES, late + SETTLE_MS - 1_000), prepared);
    assert.equal((await advanced(prepared, NAMES, late + SETTLE_MS)).current, prepared.next);
  });

  it("are replaced at once where they are for another address, or have expired", async () => {
    const first = { current: await newPair(["10.0.0.1"], START) };
    const moved = await advanced(first, ["10.0.0.2"], START);
    assert.ok(new X509Certificate(moved.current.cert).checkIP("10.0.0.2"));
    const expired = await advanced(first, ["10.0.0.1"], START + LIFETIME_MS + 1);
    assert.notEqual(expired.current, first.current);
    assert.equal(await advanced(first, ["10.0.0.1"], START), first);
  });

  it("are replaced at once where the clock was set back to before their time, and within minutes where it was set on", async () => {
    const made = { current: await newPair(NAMES, START + 24 * 3_600_000) };
    const { current } = await advanced(made, NAMES, START);
    assert.ok(new X509Certificate(current.cert).validFromDate.getTime() <= START, "API servers believe it now");
    // Who waits for a moment does not hear that it has come sooner by the clock.
    assert.ok(lookAgainAfter(made, START + 24 * 3_600_000) <= 10 * 60_000);
  });

  it("are kept in a Secret, and told from nonsense there", async () => {
    const current = await newPair(NAMES, START);
    const next = await newPair(NAMES, START);
    const chain = { current, next, previous: current.cert };
    assert.deepEqual(chainOf(forgeSecret("fjord-system", chain)), chain);
    assert.deepEqual(chainOf(forgeSecret("fjord-system", { current })), { current });
    assert.equal(chainOf({ metadata: {} } as never), undefined);
    const spoilt = forgeSecret("fjord-system", { current: { cert: "no certificate", key: current.key } });
    assert.equal(chainOf(spoilt), undefined);
  });
});
