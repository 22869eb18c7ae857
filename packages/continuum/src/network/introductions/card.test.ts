import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import fc from "fast-check";
import { SiteKey } from "../../identity/index.ts";
import { readCard, writeCard } from "./card.ts";

const facts = {
  publicKey: `${"Ab+/".repeat(10)}Abc=`,
  endpoints: ["wave.example:51820"],
  lanes: [["wave.example:51821"]],
  ranges: ["10.42.0.0/16"],
  names: [{ range: "10.42.0.0/16", called: "240.0.0.0/16" }],
  fallback: { hub: "a".repeat(26), port: 51820 },
};
const READER = "b".repeat(26);

describe("a card, by which a site speaks to one that it has never met", () => {
  let site: SiteKey;
  let other: SiteKey;
  before(async () => {
    site = await SiteKey.generate();
    other = await SiteKey.generate();
  });
  const written = (at = 7) => writeCard(site, READER, { at, facts });

  it("says what it said, however it was carried", () => {
    const carried = JSON.parse(JSON.stringify(written()));
    assert.deepEqual(readCard(carried, site.id, READER)?.content, { at: 7, facts });
    assert.deepEqual(readCard(carried, site.id, READER)?.card, written());
  });

  it("is nothing where whoever carried it has changed it, or has written it", () => {
    const card = written();
    const text = card.text.replace("wave.example", "evil.example");
    assert.notEqual(text, card.text);
    assert.equal(readCard({ ...card, text }, site.id, READER), undefined);
    assert.equal(readCard(writeCard(other, READER, { at: 7, facts }), site.id, READER), undefined);
    const forged = { ...writeCard(other, READER, { at: 7, facts }), publicKey: site.publicKey };
    assert.equal(readCard(forged, site.id, READER), undefined);
  });

  it("is nothing to anybody but the site that it was written for, and of nobody but the one that wrote it", () => {
    assert.equal(readCard(written(), site.id, other.id), undefined);
    assert.equal(readCard(written(), other.id, READER), undefined);
  });

  it("is nothing where a signature was meant for something else", () => {
    const { publicKey, text } = written();
    const signature = site.sign(Buffer.from(text, "utf8"));
    assert.equal(readCard({ publicKey, text, signature }, site.id, READER), undefined);
  });

  it("says nothing of third sites: whom a stranger leads where, exports, or is behind", () => {
    const more = {
      leadsTo: ["c".repeat(26)],
      sights: [{ site: "c".repeat(26), endpoint: "192.0.2.1:51820" }],
      tcp: true as const,
      meets: true as const,
      introduces: ["c".repeat(26)],
      relay: { hub: "c".repeat(26), port: 1 },
      exports: [{ name: "db", addresses: ["10.42.0.7"], ports: [{ protocol: "TCP" as const, port: 1 }] }],
    };
    const card = writeCard(site, READER, { at: 7, facts: { ...facts, ...more } });
    assert.deepEqual(readCard(card, site.id, READER)?.content.facts, facts);
  });

  it("is nothing where its facts could not be a peer's", () => {
    for (const wrong of [
      { ...facts, ranges: ["0.0.0.0/0"] },
      { ...facts, ranges: [] },
      { ...facts, publicKey: "no key" },
      { ...facts, endpoints: Array.from({ length: 99 }, () => "a:1") },
    ])
      assert.equal(readCard(writeCard(site, READER, { at: 7, facts: wrong }), site.id, READER), undefined);
    assert.equal(readCard(writeCard(site, READER, { at: 0.5, facts }), site.id, READER), undefined);
    assert.equal(readCard(writeCard(site, READER, { at: Number.NaN, facts }), site.id, READER), undefined);
    const long = { ...facts, endpoints: [`${"a".repeat(20_000)}:1`] };
    assert.equal(readCard(writeCard(site, READER, { at: 7, facts: long }), site.id, READER), undefined);
  });

  it("is read without harm, whatever it is", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        assert.equal(readCard(value, site.id, READER), undefined);
      }),
    );
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (publicKey, text, signature) => {
        assert.equal(readCard({ publicKey, text, signature }, site.id, READER), undefined);
      }),
    );
    const signed = (text: string) => ({
      publicKey: site.publicKey,
      text,
      signature: site.sign(Buffer.from(`fjord network card\n${text}`)),
    });
    for (const text of ["", "null", "7", "{", '{"to":7}', "[]"])
      assert.equal(readCard(signed(text), site.id, READER), undefined);
  });
});
