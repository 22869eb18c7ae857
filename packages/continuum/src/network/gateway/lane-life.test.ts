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

  it("is not silent at first where another node had it before, and is where nothing is heard in time", () => {
    const life = new LaneLife(true);
    assert.deepEqual(
      [0, 1_500, 1_700].map((now) => life.isSilent(10_000 + now, undefined)),
      [false, false, true],
    );
    assert.equal(life.isSilent(12_000, 11_900), false);
    assert.equal(life.isSilent(14_000, 11_900), true);
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
