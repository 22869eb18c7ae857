import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { PeerRefused } from "../peer-refused-error.ts";
import { digestOf, HeardNetworks } from "./heard-networks.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const facts = {
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: [],
  ranges: ["10.42.0.0/16"],
  names: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
};
const say = (heard: HeardNetworks, body: unknown) =>
  heard.route.handle({ caller: { id, publicKey: "" }, params: {}, body, signal: new AbortController().signal });

describe("what a consumer says of its network", () => {
  it("is known, and told back by its digest", async () => {
    const heard = new HeardNetworks();
    const changed: string[] = [];
    heard.onChange((site) => changed.push(site));
    assert.equal(heard.get(id), undefined);
    await say(heard, { network: facts });
    assert.deepEqual(heard.get(id), { facts });
    // However it was written.
    assert.equal(heard.digestOf(id), digestOf({ ...facts, ranges: ["10.42.9.9/16"] }));
    assert.notEqual(heard.digestOf(id), digestOf({ ...facts, names: [] }));
    assert.deepEqual(changed, [id]);
  });

  it("can be taken back", async () => {
    const heard = new HeardNetworks();
    await say(heard, { network: facts });
    await say(heard, { network: null });
    assert.deepEqual(heard.get(id), {});
    assert.equal(heard.digestOf(id), undefined);
  });

  it("is heard thirty times at once and then once a second where it is always something else, and each repetition", async () => {
    const clock = new ManualClock();
    const heard = new HeardNetworks(clock);
    let changes = 0;
    heard.onChange(() => changes++);
    const flap = async (times: number) => {
      for (let i = 0; i < times; i++)
        await say(heard, { network: { ...facts, ranges: [i % 2 ? "10.42.0.0/16" : "10.43.0.0/16"] } }).catch((error) =>
          assert.equal((error as PeerRefused).refusal.code, "TooMany"),
        );
    };
    await flap(500);
    assert.equal(changes, 30);
    await clock.advance(2_000);
    await flap(500);
    assert.equal(changes, 32);
    const { facts: last } = heard.get(id) ?? {};
    await say(heard, { network: last });
    assert.equal(changes, 32);
  });

  for (const body of [undefined, null, {}, { network: 1 }, { network: { ...facts, ranges: ["0.0.0.0/0"] } }]) {
    it(`is refused where it is ${JSON.stringify(body)?.slice(0, 40)}, and changes nothing`, async () => {
      const heard = new HeardNetworks();
      await assert.rejects(say(heard, body), PeerRefused);
      assert.equal(heard.get(id), undefined);
    });
  }
});
