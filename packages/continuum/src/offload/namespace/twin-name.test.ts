import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { twinName } from "./twin-name.ts";

const OWN = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const namespace = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

describe("the name of a twin", () => {
  it("is what the Offloading says", () => {
    assert.equal(twinName({ strategy: "Same" }, "shop", OWN), "shop");
    assert.equal(twinName({ strategy: "Chosen", name: "theirs" }, "shop", OWN), "theirs");
    assert.equal(twinName({ strategy: "Suffixed" }, "shop", OWN), `shop-${OWN}`);
  });

  it("is one that a namespace may have, and tells whose it is", () => {
    fc.assert(
      fc.property(namespace, (name) => {
        const twin = twinName({ strategy: "Suffixed" }, name, OWN);
        assert.match(twin, /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
        assert.ok(twin.length <= 63 && twin.endsWith(`-${OWN}`));
      }),
    );
  });

  it("is another for each namespace", () => {
    fc.assert(
      fc.property(namespace, namespace, (one, other) => {
        fc.pre(one !== other);
        const strategy = "Suffixed";
        assert.notEqual(twinName({ strategy }, one, OWN), twinName({ strategy }, other, OWN));
      }),
    );
    const [one, other] = [`${"a".repeat(62)}b`, `${"a".repeat(62)}c`];
    assert.notEqual(twinName({ strategy: "Suffixed" }, one, OWN), twinName({ strategy: "Suffixed" }, other, OWN));
  });
});
