import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LaneLife } from "./lane-life.ts";

describe("A lane", () => {
  it("is silent until the peer answers on it, and then at once not", () => {
    const life = new LaneLife();
    assert.equal(life.look(0, undefined), "silent");
    assert.equal(life.look(500, undefined), "silent");
    assert.equal(life.look(1_000, 900), "alive");
  });

  it("is not silent at first where another node had it before, and is where nothing is heard in time", () => {
    const life = new LaneLife(true);
    assert.deepEqual(
      [0, 1_500, 1_700].map((now) => life.look(10_000 + now, undefined)),
      ["alive", "alive", "silent"],
    );
    assert.equal(life.look(12_000, 11_900), "alive");
    assert.equal(life.look(14_000, 11_900), "silent");
  });

  it("is silent when nothing was heard for more than a second and a half, and not for one lost answer", () => {
    const life = new LaneLife();
    assert.equal(life.look(1_000, 1_000), "alive");
    assert.equal(life.look(2_100, 1_000), "alive");
    assert.equal(life.look(2_600, 1_000), "silent");
  });

  it("is not silent again before it has answered for three seconds without a break", () => {
    const life = new LaneLife();
    life.look(0, 0);
    life.look(2_000, 0);
    const states = [10_000, 10_500, 11_000].map((now) => life.look(now, now));
    assert.deepEqual(states, ["proving", "proving", "proving"]);
    // A break: it begins anew.
    assert.equal(life.look(13_500, 11_000), "silent");
    assert.equal(life.look(14_000, 14_000), "proving");
    assert.equal(life.look(16_000, 16_000), "proving", "it was heard now and then");
    assert.equal(life.look(17_000, 17_000), "alive");
  });
});
