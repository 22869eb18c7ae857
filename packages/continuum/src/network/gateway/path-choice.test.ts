import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PathChoice, type PathSight } from "./path-choice.ts";

/** A peer to look at, second by second. */
class Watched {
  now = 1_000_000;
  readonly choice = new PathChoice(this.now);

  look(change: Partial<PathSight> = {}): string | undefined {
    this.now += 1_000;
    const sight = { isHeard: true, isThroughHub: false, isHubAlive: true, canDial: true };
    return this.choice.look({ now: this.now, ...sight, ...change });
  }

  /** What is dialled, with the second of it. */
  dialled(seconds: number, change: Partial<PathSight> | ((second: number) => Partial<PathSight>)): string[] {
    return Array.from({ length: seconds }, (_, at) => at + 1).flatMap((second) => {
      const way = this.look(typeof change === "function" ? change(second) : change);
      return way === undefined ? [] : [`${second} ${way}`];
    });
  }
}
const silent = { isHeard: false };
const byHub = { isThroughHub: true };

describe("the way to a peer that a hub leads to as well", () => {
  it("is the direct one as long as the peer is heard of there", () => {
    assert.deepEqual(new Watched().dialled(600, {}), []);
  });

  it("is the hub's three seconds after the peer fell silent, and sooner where the peer comes by it", () => {
    const watched = new Watched();
    watched.look();
    assert.deepEqual(watched.dialled(5, silent), ["3 hub"]);
    const other = new Watched();
    assert.deepEqual([other.look(byHub), other.choice.path], [undefined, "hub"]);
  });

  it("is the hub's where the two never met, and waits for a beginning before", () => {
    assert.deepEqual(new Watched().dialled(10, silent), ["7 hub"]);
  });

  it("stays the direct one where the hub is silent itself", () => {
    assert.deepEqual(new Watched().dialled(60, { ...silent, isHubAlive: false }), []);
  });

  it("is tried directly now and then for two seconds, less and less often, and taken again when it works", () => {
    const watched = new Watched();
    watched.look(byHub);
    const tries = watched.dialled(1_000, byHub);
    assert.deepEqual(tries.slice(0, 4), ["30 direct", "32 hub", "92 direct", "94 hub"]);
    assert.equal(watched.choice.path, "hub");
    const met = watched.dialled(1_200, (second) => (second > 600 ? {} : byHub));
    assert.equal(watched.choice.path, "direct");
    assert.ok(met.length <= 4, met.join());
    // And from then on as at first.
    assert.deepEqual(watched.dialled(40, silent).slice(0, 1), ["3 hub"]);
  });

  it("is not tried directly where the peer has no endpoint: it comes by itself", () => {
    const watched = new Watched();
    assert.deepEqual(watched.dialled(8, { ...silent, canDial: false }), ["7 hub"]);
    assert.deepEqual(watched.dialled(2_000, { ...byHub, canDial: false }), []);
    watched.look({ canDial: false });
    assert.equal(watched.choice.path, "direct");
  });

  it("is sought by both where neither leads there", () => {
    const tries = new Watched().dialled(60, silent);
    assert.deepEqual(tries.slice(0, 4), ["7 hub", "14 direct", "21 hub", "28 direct"]);
  });
});
