import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LaneLife } from "./lane-life.ts";

describe("A lane", () => {
  it("is silent until the peer answers on it, and then at once not", () => {
    const life = new LaneLife();
    assert.equal(life.isSilent(0, undefined), true);
    assert.equal(life.isSilent(500, undefined), true);
    assert.equal(life.isSilent(1_000, 900), false);
  });

  it("is silent when nothing was heard for more than a second and a half, and not for one lost answer", () => {
    const life = new LaneLife();
    assert.equal(life.isSilent(1_000, 1_000), false);
    assert.equal(life.isSilent(2_100, 1_000), false);
    assert.equal(life.isSilent(2_600, 1_000), true);
  });

  it("is not silent again before it has answered for three seconds without a break", () => {
    const life = new LaneLife();
    life.isSilent(0, 0);
    life.isSilent(2_000, 0);
    const states = [10_000, 10_500, 11_000].map((now) => life.isSilent(now, now));
    assert.deepEqual(states, [true, true, true]);
    // A break: it begins anew.
    assert.equal(life.isSilent(13_500, 11_000), true);
    assert.equal(life.isSilent(14_000, 14_000), true);
    assert.equal(life.isSilent(16_000, 16_000), true, "it was heard now and then");
    assert.equal(life.isSilent(17_000, 17_000), false);
  });
});
