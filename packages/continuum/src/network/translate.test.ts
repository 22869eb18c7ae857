import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formatAddress } from "./ip-range.ts";
import { calledHere, calledThere, meantThere } from "./translate.ts";

const plan = {
  site: "mzxw6ytboi2dcmrtgq2tmnzyhe",
  own: [
    { range: "10.42.0.0/16", called: "240.3.0.0/16" },
    { range: "fd00:42::/56", called: "fd00:42::/56" },
    { range: "10.50.0.0/16" },
  ],
  peer: [
    { range: "10.42.0.0/16", called: "240.0.0.0/16" },
    { range: "10.44.0.0/16", called: "10.44.0.0/16" },
    { range: "10.45.0.0/16" },
  ],
};

describe("an address and its name", () => {
  it("are told apart by who asks", () => {
    assert.equal(calledThere(plan, "10.42.1.5"), "240.3.1.5");
    assert.equal(calledHere(plan, "10.42.1.5"), "240.0.1.5");
    assert.equal(meantThere(plan, "240.0.1.5"), "10.42.1.5");
  });

  it("are the same where nothing overlaps", () => {
    assert.equal(calledThere(plan, "fd00:42:0:1::9"), "fd00:42:0:1::9");
    assert.equal(calledHere(plan, "10.44.9.9"), "10.44.9.9");
  });

  it("do not exist beyond the plan", () => {
    for (const address of ["10.50.0.1", "10.43.0.1", "192.168.0.1", "fd00:43::1", "no address", ""])
      assert.equal(calledThere(plan, address), undefined, address);
    for (const address of ["10.45.0.1", "10.96.0.1", "240.0.0.1"])
      assert.equal(calledHere(plan, address), undefined, address);
  });

  it("lead back to where they came from", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 65535n }), (offset) => {
        const address = formatAddress(4, (10n << 24n) + (42n << 16n) + offset);
        assert.equal(meantThere(plan, calledHere(plan, address) ?? ""), address);
      }),
    );
  });
});
