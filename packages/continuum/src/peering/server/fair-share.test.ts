import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FairShare } from "./fair-share.ts";

describe("a fair share", () => {
  it("has whoever takes most make room, with its oldest", () => {
    const share = new FairShare<string>(4);
    for (const item of ["a1", "a2", "b1", "a3"]) assert.equal(share.add(item, item.charAt(0)), undefined);
    assert.equal(share.add("a4", "a"), "a1");
    assert.equal(share.add("c1", "c"), "a2");
    assert.equal(share.add("b2", "b"), "a3");
  });

  it("counts nothing that has gone by itself", () => {
    const share = new FairShare<string>(2);
    share.add("a1", "a");
    share.add("a2", "a");
    share.delete("a1");
    share.delete("a1");
    assert.equal(share.add("b1", "b"), undefined);
    assert.equal(share.add("b2", "b"), "b1");
  });
});
