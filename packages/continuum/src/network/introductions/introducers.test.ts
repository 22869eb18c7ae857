import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AddressPlan, CONSUMER_LABEL } from "@fjord/api";
import type { Pod } from "@fjord/kube";
import fc from "fast-check";
import type { NetworkFacts } from "../../protocol.ts";
import type { PeerWord } from "../peer-word.ts";
import { parseCidrs } from "../ranges.ts";
import { type IntroducerSources, introducedGroups, introducersOf, leavesNames, newestCard } from "./introducers.ts";
import type { Introduction } from "./introduction.ts";

const OTHER = "o".repeat(26);
const facts = (more: object = {}): NetworkFacts => ({
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: [],
  ranges: ["10.42.0.0/16"],
  names: [],
  ...more,
});
const said: Introduction = { namespaces: [] };
const plan = (introducedBy: string[]): AddressPlan["spec"] => ({ site: OTHER, own: [], peer: [], introducedBy });
const sources = (parts: Partial<IntroducerSources> = {}): IntroducerSources => ({
  site: OTHER,
  heard: new Map(),
  hasContract: () => true,
  wordOf: (): PeerWord => ({ facts: facts({ introduces: [OTHER] }) }),
  ...parts,
});
const names = (parts?: Partial<IntroducerSources>) => introducersOf(sources(parts)).map(({ consumer }) => consumer);

describe("who introduces a site to a provider", () => {
  const heard = new Map([["c1", said]]);

  it("is a consumer that says so, with a contract", () => {
    assert.deepEqual(introducersOf(sources({ heard })), [{ consumer: "c1", said }]);
    assert.deepEqual(names({ heard, hasContract: () => false }), []);
  });

  it("is nobody who has only said it, or does not say it any more", () => {
    assert.deepEqual(names({ heard, wordOf: () => ({ facts: facts() }) }), []);
    assert.deepEqual(names({ heard, wordOf: () => ({}) }), []);
    assert.deepEqual(names({ heard, before: plan(["c1"]), wordOf: () => ({ facts: facts({ introduces: [] }) }) }), []);
  });

  it("is still who has done so before and is silent since, and nobody new", () => {
    const silent = { wordOf: (): PeerWord => "unknown" };
    assert.deepEqual(introducersOf(sources({ ...silent, before: plan(["c1"]) })), [{ consumer: "c1" }]);
    assert.deepEqual(names({ ...silent, heard }), []);
    assert.deepEqual(
      names({ ...silent, before: plan(["c1"]), hasContract: () => false }),
      [],
      "but its contract is over",
    );
  });

  it("is not the site itself", () => {
    assert.deepEqual(names({ heard: new Map([[OTHER, said]]) }), []);
  });

  it("is each of several, in one order", () => {
    assert.deepEqual(
      names({
        heard: new Map([
          ["c2", said],
          ["c1", said],
        ]),
        before: plan(["c3"]),
      }),
      ["c1", "c2", "c3"],
    );
  });
});

describe("what a site says of itself by several hands", () => {
  const by = (at: number, endpoint: string) => ({
    consumer: "c",
    said: { namespaces: [], content: { at, facts: facts({ endpoints: [endpoint] }) } },
  });

  it("is what it has said last, so that an old card gains nobody anything", () => {
    assert.deepEqual(newestCard([by(1, "old:1"), by(3, "new:1"), by(2, "mid:1")])?.facts.endpoints, ["new:1"]);
    assert.equal(newestCard([{ consumer: "c" }, { consumer: "d", said }]), undefined);
  });
});

describe("who may talk over a link between two providers", () => {
  const spec: AddressPlan["spec"] = {
    site: OTHER,
    own: [{ range: "10.42.0.0/16", called: "240.9.0.0/16" }],
    peer: [{ range: "10.42.0.0/16", called: "240.1.0.0/16" }],
  };
  const guest = (consumer: string, namespace: string, podIP: string): Pod =>
    ({
      metadata: { name: podIP, namespace, labels: { [CONSUMER_LABEL]: consumer } },
      spec: { containers: [] },
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] },
    }) as unknown as Pod;
  const guests = [guest("c1", "t1", "10.42.0.1"), guest("c1", "t2", "10.42.0.2"), guest("c2", "t3", "10.42.0.3")];
  const says = (consumer: string, twin: string, ...addresses: string[]) => ({
    consumer,
    said: { namespaces: [{ twin, addresses }] },
  });

  it("are a consumer's guests of a namespace with those that it says are its own at the other", () => {
    assert.deepEqual(introducedGroups(spec, [says("c1", "t1", "10.42.0.9", "10.42.0.8")], guests), [
      { name: "t1", local: ["10.42.0.1"], remote: ["240.1.0.8", "240.1.0.9"] },
    ]);
  });

  it("are no guests of another consumer, though somebody names their namespace", () => {
    assert.deepEqual(introducedGroups(spec, [says("c1", "t3", "10.42.0.9")], guests), []);
  });

  it("are nobody outside of what the other has said to be its ranges", () => {
    assert.deepEqual(introducedGroups(spec, [says("c1", "t1", "10.43.0.9", "192.0.2.1")], guests), []);
  });

  it("are the same as before while the consumer is silent, with the guests that there are now", () => {
    const before = [{ name: "t1", local: ["10.42.0.77"], remote: ["240.1.0.9"] }];
    assert.deepEqual(introducedGroups(spec, [{ consumer: "c1" }], guests, before), [
      { name: "t1", local: ["10.42.0.1"], remote: ["240.1.0.9"] },
    ]);
  });

  it("are never guests of two consumers, as long as one of these is honest", () => {
    // Two providers with the same range; each calls the other 240.1/16. c1 is honest at both, c2 says whatever it likes.
    const address = fc.integer({ min: 1, max: 6 }).map((last) => `10.42.0.${last}`);
    const claims = fc.record({ twin: fc.constantFrom("t1", "t2"), addresses: fc.array(address) });
    fc.assert(
      fc.property(fc.array(claims), fc.array(claims), (atOne, atOther) => {
        const ofOne = [guest("c1", "t1", "10.42.0.1"), guest("c2", "t2", "10.42.0.2")];
        const ofOther = [guest("c1", "t1", "10.42.0.3"), guest("c2", "t2", "10.42.0.4")];
        const lies = (namespaces: typeof atOne) => ({ consumer: "c2", said: { namespaces } });
        const one = introducedGroups(spec, [says("c1", "t1", "10.42.0.3"), lies(atOne)], ofOne);
        const other = introducedGroups(spec, [says("c1", "t1", "10.42.0.1"), lies(atOther)], ofOther);
        const called = (text: string) => text.replace("10.42", "240.1");
        const passes = (from: string, to: string) =>
          one.some(({ local, remote }) => local.includes(from) && remote.includes(called(to))) &&
          other.some(({ local, remote }) => local.includes(to) && remote.includes(called(from)));
        assert.ok(passes("10.42.0.1", "10.42.0.3"), "c1's guests meet");
        assert.ok(!passes("10.42.0.1", "10.42.0.4"), "c1's guest at the one, and c2's at the other");
        assert.ok(!passes("10.42.0.2", "10.42.0.3"), "c2's guest at the one, and c1's at the other");
      }),
    );
  });
});

describe("names for sites that a consumer introduces", () => {
  const pools = parseCidrs(["240.0.0.0/5", "fd66:6a6f::/32"]);
  const others = (count: number) => Array.from({ length: count }, (_, i) => ({ peer: [{ range: `10.${i}.0.0/16` }] }));

  it("are enough for 200 with a range as every k3s has it, and leave most to others", () => {
    assert.ok(leavesNames(["10.42.0.0/16"], others(200), pools));
    assert.ok(!leavesNames(["10.42.0.0/16"], others(256), pools));
    assert.ok(
      !leavesNames(["10.0.0.0/10", "10.64.0.0/10", "10.128.0.0/10", "10.192.0.0/10", "11.0.0.0/10"], [], pools),
    );
  });

  it("are counted for each family", () => {
    assert.ok(leavesNames(["fd00:42::/56", "10.42.0.0/16"], [], pools));
    assert.ok(!leavesNames(["fd00::/34"], [], pools));
    assert.ok(!leavesNames(["fd00:42::/56"], [], parseCidrs(["240.0.0.0/5"])));
  });
});
