import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { PeerRefused } from "../peer-refused-error.ts";
import type { NetworkFacts, NetworkWord } from "../protocol.ts";
import { digestOf } from "./heard-networks.ts";
import { isHeard, PeerTeller } from "./tell-peer.ts";

const bare: NetworkFacts = {
  publicKey: Buffer.alloc(32, 1).toString("base64"),
  endpoints: ["192.0.2.1:51820"],
  ranges: ["10.42.0.0/16"],
  names: [],
} as unknown as NetworkFacts;
const proven = { ...bare, keyProof: Buffer.alloc(32, 2).toString("base64url") };

describe("whether a provider has heard of the own network", () => {
  it("is so when it says so, and nothing is to be said where there is nothing", () => {
    assert.ok(isHeard(digestOf(proven), proven, false));
    assert.ok(isHeard(undefined, undefined, false));
    assert.ok(!isHeard(undefined, bare, true));
    assert.ok(!isHeard(digestOf(bare), undefined, true));
  });

  it("is not so before it was told of a proof, and is once it was: an older one cannot say more", () => {
    assert.notEqual(digestOf(bare), digestOf(proven));
    assert.ok(!isHeard(digestOf(bare), proven, false));
    assert.ok(isHeard(digestOf(bare), proven, true));
  });

  it("is not so where it has heard another proof, or something else", () => {
    const other = { ...bare, keyProof: Buffer.alloc(32, 3).toString("base64url") };
    assert.ok(!isHeard(digestOf(other), proven, true));
    assert.ok(!isHeard(digestOf({ ...bare, endpoints: [] }), proven, true));
  });
});

describe("what providers are told of the own network", () => {
  const [EVIL, HONEST] = ["a".repeat(26), "b".repeat(26)] as const;
  const other = { ...bare, endpoints: [] };

  /** `answer` is what becomes of a call. Reports never say that anything was heard. */
  function bed(answer: (site: string) => Promise<unknown>) {
    const clock = new ManualClock();
    const told: [site: string, endpoints: number | undefined][] = [];
    const looks: [site: string, afterMs: number][] = [];
    let refreshes = 0;
    const remoteOf = (id: string) => ({
      id,
      report: {},
      reachability: { reachable: true },
      refresh: () => void refreshes++,
      call: async (_method: string, _path: string, { network }: NetworkWord) => {
        told.push([id, network?.endpoints.length]);
        await answer(id);
      },
    });
    const teller = new PeerTeller({
      sites: { get: (id: string) => remoteOf(id) as never },
      peerings: { list: () => [EVIL, HONEST].map((siteId) => ({ status: { siteId } })) as never },
      clock,
      look: (site, afterMs) => void looks.push([site, afterMs]),
    });
    return { clock, told, looks, teller, refreshes: () => refreshes };
  }

  it("is said to one though another does not answer, which is told one thing at a time, and then the newest", async () => {
    const answered = Promise.withResolvers<void>();
    const { clock, told, looks, teller } = bed((site) => (site === EVIL ? answered.promise : Promise.resolve()));
    teller.tell(EVIL, bare);
    teller.tell(HONEST, bare);
    await clock.advance(0);
    assert.deepEqual(told, [
      [EVIL, 1],
      [HONEST, 1],
    ]);
    teller.tell(EVIL, other);
    await clock.advance(0);
    assert.equal(told.length, 2);
    answered.resolve();
    await clock.advance(0);
    assert.deepEqual(looks, [[EVIL, 0]]);
    teller.tell(EVIL, other);
    await clock.advance(0);
    assert.deepEqual(told[2], [EVIL, 0]);
    teller.close();
  });

  it("is said again and again to one that never says that it has heard it, and not without end", async () => {
    const { clock, told, looks, teller, refreshes } = bed(async () => {});
    for (let ms = 0; ms < 10_000; ms += 10) {
      // As its next report would have it done.
      teller.tell(EVIL, bare);
      await clock.advance(10);
    }
    assert.ok(told.length >= 19 && told.length <= 21, `${told.length} times`);
    assert.equal(refreshes(), told.length);
    assert.ok(looks.every(([, afterMs]) => afterMs > 0));
    teller.close();
  });

  it("is said again soon where nobody answered, and later where it was refused", async () => {
    const errors = [new Error("the connection broke"), new PeerRefused({ code: "NotFound", message: "" }, 404)];
    const { clock, looks, teller } = bed(async () => {
      throw errors.shift();
    });
    for (const _ of [1, 2]) {
      teller.tell(HONEST, bare);
      await clock.advance(0);
    }
    assert.deepEqual(looks, [
      [HONEST, 1_000],
      [HONEST, 15_000],
    ]);
  });
});
