import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { wireguardKeys } from "@fjord/testbed/namespaces";
import { KeyProofs, newestKey } from "./key-proofs.ts";

describe("A proof that a site has its key", () => {
  const [a, b, c] = [wireguardKeys(), wireguardKeys(), wireguardKeys()];
  const proofs = new KeyProofs();

  it("is what the one that it is shown to finds by itself", () => {
    const shown = proofs.of(a.private, b.public, "a", "b");
    assert.match(shown ?? "", /^[A-Za-z0-9_-]{43}$/);
    assert.equal(shown, proofs.of(b.private, a.public, "a", "b"));
  });

  it("is good for one site, to one other, by these two keys alone", () => {
    const shown = proofs.of(a.private, b.public, "a", "b");
    const others = [
      proofs.of(b.private, a.public, "b", "a"),
      proofs.of(b.private, a.public, "c", "b"),
      proofs.of(c.private, a.public, "a", "b"),
      proofs.of(b.private, c.public, "a", "b"),
    ];
    assert.ok(others.every((each) => each !== undefined && each !== shown));
    assert.equal(new Set(others).size, others.length);
  });

  it("is none of what is no key, or one with which every secret is the same", () => {
    const zero = Buffer.alloc(32).toString("base64");
    for (const [own, other] of [
      [a.private, zero],
      [a.private, ""],
      ["", b.public],
      [a.private, "AAAA"],
    ] as const)
      assert.equal(proofs.of(own, other, "a", "b"), undefined, other);
  });

  it("is of the key that comes next, which is the one in the Secret", () => {
    assert.equal(newestKey({ publicKey: "old", nextKey: "new" }), "new");
    assert.equal(newestKey({ publicKey: "only" }), "only");
  });
});
