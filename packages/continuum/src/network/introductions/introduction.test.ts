import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Pod } from "@fjord/kube";
import fc from "fast-check";
import { SiteKey } from "../../identity/index.ts";
import { LARGEST_BODY } from "../../protocol.ts";
import { writeCard } from "./card.ts";
import { checkIntroduction, introducedNamespaces, introducedSites, introductionToken } from "./introduction.ts";

const facts = {
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: ["wave.example:51820"],
  ranges: ["10.42.0.0/16"],
  names: [],
};
const SELF = "b".repeat(26);
const namespaces = [{ twin: "shop-abc", addresses: ["10.42.0.7", "fd00::7"] }];

describe("what a consumer says to a provider of another one", () => {
  let site: SiteKey;
  before(async () => {
    site = await SiteKey.generate();
  });
  const check = (value: unknown) => checkIntroduction(value, site.id, SELF);

  it("is taken with a card or without, and with nothing else of it", () => {
    assert.deepEqual(check({ namespaces, more: 1 }), { namespaces });
    const card = writeCard(site, SELF, { at: 1, facts });
    assert.deepEqual(check({ card, namespaces: [] }), { card, content: { at: 1, facts }, namespaces: [] });
  });

  it("is refused as a whole where any of it is wrong", () => {
    const many = Array.from({ length: 8_193 }, (_, i) => `10.42.${i >> 8}.${i & 255}`);
    for (const wrong of [
      undefined,
      null,
      {},
      { namespaces: {} },
      { namespaces, card: null },
      { namespaces, card: writeCard(site, "c".repeat(26), { at: 1, facts }) },
      { namespaces: [{ twin: "UPPER", addresses: [] }] },
      { namespaces: [{ twin: "a/b", addresses: [] }] },
      { namespaces: [{ twin: "a", addresses: ["10.42.0.0/16"] }] },
      { namespaces: [{ twin: "a", addresses: [7] }] },
      { namespaces: [{ twin: "a", addresses: many }] },
      {
        namespaces: [
          { twin: "a", addresses: many.slice(0, 5_000) },
          { twin: "b", addresses: many.slice(0, 5_000) },
        ],
      },
      { namespaces: Array.from({ length: 257 }, (_, i) => ({ twin: `t${i}`, addresses: [] })) },
    ])
      assert.equal(check(wrong), undefined, JSON.stringify(wrong)?.slice(0, 80));
    assert.equal(checkIntroduction({ namespaces }, SELF, SELF), undefined, "nobody is introduced to itself");
  });

  it("does no harm, whatever it is", () => {
    fc.assert(fc.property(fc.anything(), (value) => assert.equal(check(value)?.card, undefined)));
  });

  it("is known again by a word that changes with all that it says, and with the answer", () => {
    const [card, answer] = [writeCard(site, SELF, { at: 1, facts }), writeCard(site, SELF, { at: 2, facts })];
    const tokens = [
      introductionToken({ namespaces }, undefined),
      introductionToken({ namespaces: [] }, undefined),
      introductionToken({ namespaces, card }, undefined),
      introductionToken({ namespaces, card: answer }, undefined),
      introductionToken({ namespaces }, card),
      introductionToken({ namespaces: [{ twin: "other", addresses: namespaces[0]?.addresses ?? [] }] }, undefined),
    ];
    assert.equal(new Set(tokens).size, tokens.length);
    for (const token of tokens) assert.match(token, /^[\w-]{22}$/);
    assert.equal(introductionToken(JSON.parse(JSON.stringify({ namespaces, card })), undefined), tokens[2]);
  });
});

describe("the pods that a provider is told of", () => {
  const plan = {
    site: "c".repeat(26),
    own: [],
    peer: [{ range: "10.42.0.0/16", called: "240.3.0.0/16" }],
  };
  const pod = (podIP: string, nodeName = "there", more: object = {}): Pod =>
    ({
      metadata: { name: podIP },
      spec: { nodeName, containers: [], ...more },
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] },
    }) as unknown as Pod;
  const isThere = ({ spec }: Pod) => spec?.nodeName === "there";
  const told = (...pods: Pod[]) => introducedNamespaces(plan, [{ twin: "shop-abc", pods, isThere }]);

  it("are those at the other provider, by the addresses that they have there, each once and in order", () => {
    const pods = [pod("240.3.0.9"), pod("240.3.0.7"), pod("240.3.0.7"), pod("10.42.0.1", "here"), pod("240.4.0.1")];
    assert.deepEqual(told(...pods).namespaces, [{ twin: "shop-abc", addresses: ["10.42.0.7", "10.42.0.9"] }]);
  });

  it("have addresses of their own, and run", () => {
    const over = pod("240.3.0.8");
    const ended = { ...over, status: { ...over.status, phase: "Succeeded" } } as Pod;
    assert.deepEqual(told(ended, pod("240.3.0.8", "there", { hostNetwork: true })).namespaces, []);
  });

  it("are as many as one message can have, and it is known how many are left out", () => {
    const pods = Array.from({ length: 8_200 }, (_, i) => pod(`240.3.${i >> 8}.${i & 255}`));
    const { namespaces: all, left } = told(...pods);
    assert.deepEqual([all[0]?.addresses.length, left], [8_192, 8]);
    assert.ok(JSON.stringify({ namespaces: all }).length < LARGEST_BODY);
    assert.notEqual(checkIntroduction({ namespaces: all }, "c".repeat(26), SELF), undefined);
  });
});

describe("whom a consumer introduces to each other", () => {
  const id = (index: number) => String.fromCharCode(97 + (index >> 4), 97 + (index & 15)).padEnd(26, "a");
  const twinsOf = (offloadings: Readonly<Record<string, readonly string[]>>) => ({
    sitesOf: (namespace: string) => offloadings[namespace] ?? [],
    namespacesAt: (site: string) => Object.keys(offloadings).filter((name) => offloadings[name]?.includes(site)),
  });

  it("are those that have a namespace in common and take part, both of them", () => {
    const twins = twinsOf({ shop: ["a", "b"], bank: ["b", "c"], alone: ["d"] });
    const all = (site: string, refusing: string[] = []) =>
      introducedSites(site, twins, (each) => !refusing.includes(each));
    assert.deepEqual(
      ["a", "b", "c", "d"].map((site) => all(site)),
      [["b"], ["a", "c"], ["b"], []],
    );
    assert.deepEqual([all("a", ["b"]), all("b", ["b"]), all("b", ["a"])], [[], [], ["c"]]);
  });

  it("are pairs alone that share something: 50 providers of ten namespaces have no more than these need", () => {
    const sites = Array.from({ length: 50 }, (_, i) => id(i));
    assert.equal(new Set(sites).size, 50);
    const offloadings = Object.fromEntries(
      Array.from({ length: 10 }, (_, n) => [`n${n}`, sites.slice(n * 5, n * 5 + 5)]),
    );
    const pairs = sites.flatMap((site) =>
      introducedSites(site, twinsOf(offloadings), () => true).map((other) => [site, other]),
    );
    assert.equal(pairs.length, 10 * 5 * 4);
    const everybody = twinsOf({ shop: sites });
    const begun = performance.now();
    const full = sites.flatMap((site) => introducedSites(site, everybody, () => true));
    assert.equal(full.length, 50 * 49);
    assert.ok(performance.now() - begun < 5_000);
  });

  it("are symmetric, whatever is offloaded where, and whoever refuses", () => {
    const site = fc.constantFrom<string>("a", "b", "c", "d", "e");
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ minLength: 1 }), fc.uniqueArray(site)),
        fc.uniqueArray(site),
        (map, refusing) => {
          const twins = twinsOf(map);
          const of = (one: string) => introducedSites(one, twins, (each) => !refusing.includes(each));
          for (const one of ["a", "b", "c", "d", "e"])
            for (const other of of(one)) {
              assert.ok(of(other).includes(one));
              assert.ok(other !== one && !refusing.includes(one) && !refusing.includes(other));
            }
        },
      ),
    );
  });
});
