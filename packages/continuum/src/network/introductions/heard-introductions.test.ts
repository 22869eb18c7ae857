import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Card } from "../../protocol.ts";
import { HeardIntroductions } from "./heard-introductions.ts";

const [CONSUMER, OWN] = ["c".repeat(26), "o".repeat(26)] as const;
const siteOf = (i: number) => `${"s".repeat(24)}${String.fromCharCode(97 + (i >> 4), 97 + (i & 15))}`;
const addressesOf = (i: number) => Array.from({ length: 8_192 }, (_, j) => `10.${i}.${j >> 8}.${j & 255}`);

function bed() {
  const cards = new Map<string, Card>();
  const heard = new HeardIntroductions({
    id: OWN,
    accepts: () => true,
    cardFor: (site) => cards.get(site),
    clock: { now: () => 0 },
  });
  const say = (site: string, addresses: readonly string[]) =>
    heard.route.handle({
      caller: { id: CONSUMER, publicKey: "" },
      params: { site },
      body: { namespaces: [{ twin: "shop", addresses }] },
      signal: new AbortController().signal,
    });
  return { cards, heard, say };
}

describe("what a provider has heard of introductions", () => {
  it("is told by other words where something else was said, or is answered, and by the same ones otherwise", async () => {
    const { cards, heard, say } = bed();
    const site = siteOf(0);
    const token = () => heard.tokensFor(CONSUMER)?.[site];
    await say(site, ["10.0.0.1"]);
    const tokens = [token()];
    await say(site, ["10.0.0.1"]);
    assert.deepEqual([token(), token()], [tokens[0], tokens[0]]);
    await say(site, ["10.0.0.2"]);
    tokens.push(token());
    for (const signature of ["one", "other"]) {
      cards.set(site, { publicKey: "", text: "", signature });
      tokens.push(token());
    }
    assert.equal(new Set(tokens).size, tokens.length);
    cards.clear();
    assert.equal(token(), tokens[1]);
  });

  it("is so many pods of one consumer at all sites together, and no more", async () => {
    const { heard, say } = bed();
    for (let i = 0; i < 8; i++) await say(siteOf(i), addressesOf(i));
    await assert.rejects(say(siteOf(8), ["10.9.0.1"]), /65536 pods already/);
    await say(siteOf(7), addressesOf(9));
    await say(siteOf(7), ["10.9.0.1"]);
    await say(siteOf(8), ["10.9.0.1"]);
    assert.equal(Object.keys(heard.tokensFor(CONSUMER) ?? {}).length, 9);
  });

  it("is told again and again for little, however much it is", async () => {
    const { heard, say } = bed();
    for (let i = 0; i < 8; i++) await say(siteOf(i), addressesOf(i));
    assert.equal(Object.keys(heard.tokensFor(CONSUMER) ?? {}).length, 8);
    const before = process.cpuUsage();
    for (let i = 0; i < 800; i++) heard.tokensFor(CONSUMER);
    const { user, system } = process.cpuUsage(before);
    // With all that was said read each time it would be one second and a half at least.
    assert.ok(user + system < 500_000, `${user + system} µs`);
  });
});
