import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PeerKeys } from "./peer-keys.ts";

/** Sessions by key, in seconds. */
const sessions = (seen: Record<string, number>) => (key: string) => seen[key];

describe("PeerKeys", () => {
  test("a peer with one key has its ranges there, and nothing waits", () => {
    const keys = new PeerKeys({ current: "k" });
    assert.equal(keys.look(0, sessions({ k: 5 })), false);
    assert.deepEqual([keys.active, keys.standby(0), keys.isTurning()], ["k", [], false]);
  });

  test("the next key waits beside it until the peer says that it takes it, and then has the ranges at once", () => {
    const keys = new PeerKeys({ current: "k" }, sessions({ k: 5 }));
    keys.bring({ current: "k", next: "n" }, 0);
    assert.deepEqual([keys.active, keys.standby(0), keys.isTurning()], ["k", ["n"], true]);
    assert.equal(keys.arm("n", 100), true);
    assert.deepEqual(keys.standby(200), [], "nobody may begin with it while it has no ranges");
    assert.equal(keys.turn("n", 300), true);
    assert.equal(keys.active, "n");
    assert.equal(keys.look(400, sessions({ k: 5, n: 6 })), false);
    keys.look(5_000, sessions({ k: 5, n: 6 }));
    assert.equal(keys.active, "n", "a session is the proof");
    keys.bring({ current: "n" }, 5_000);
    assert.deepEqual([keys.active, keys.standby(5_000), keys.isTurning()], ["n", [], false]);
  });

  test("a key that was never named is not known", () => {
    const keys = new PeerKeys({ current: "k", next: "n" });
    assert.equal(keys.arm("x", 0), false);
    assert.equal(keys.turn("x", 0), false);
    keys.look(0, sessions({ x: 9 }));
    assert.equal(keys.active, "k");
  });

  test("who says that it takes a key and does not is met by the one before", () => {
    const keys = new PeerKeys({ current: "k", next: "n" }, sessions({ k: 5 }));
    keys.arm("n", 0);
    keys.turn("n", 10);
    assert.equal(keys.look(500, sessions({ k: 5 })), false);
    assert.equal(keys.look(800, sessions({ k: 5 })), true);
    assert.deepEqual([keys.active, keys.standby(800)], ["k", ["n"]]);
  });

  test("who asks and then says nothing is waited for by the next key again", () => {
    const keys = new PeerKeys({ current: "k", next: "n" });
    keys.arm("n", 0);
    assert.equal(keys.look(1_000, sessions({})), false);
    assert.equal(keys.look(1_600, sessions({})), true);
    assert.deepEqual(keys.standby(1_600), ["n"]);
  });

  test("a session by the next key shows that it is used, whatever was said", () => {
    const keys = new PeerKeys({ current: "k", next: "n" }, sessions({ k: 5 }));
    assert.equal(keys.look(0, sessions({ k: 5, n: 5 })), true);
    assert.deepEqual([keys.active, keys.standby(0)], ["n", ["k"]]);
    assert.equal(keys.look(1, sessions({ k: 6, n: 5 })), true, "and back");
    assert.equal(keys.active, "k");
  });

  test("a process that goes on for another takes the key of the last session", () => {
    assert.equal(new PeerKeys({ current: "k", next: "n" }, sessions({ k: 5, n: 6 })).active, "n");
    assert.equal(new PeerKeys({ current: "k", next: "n" }, sessions({ k: 6, n: 5 })).active, "k");
  });

  test("a key that was not announced is taken as soon as it is named", () => {
    const keys = new PeerKeys({ current: "k" });
    keys.bring({ current: "n" }, 0);
    assert.deepEqual([keys.active, keys.standby(0)], ["n", []]);
  });

  test("an announced key that was taken on another lane is waited for on this one", () => {
    const keys = new PeerKeys({ current: "k", next: "n" }, sessions({ k: 5 }));
    keys.bring({ current: "n" }, 0);
    assert.deepEqual([keys.active, keys.standby(0)], ["k", ["n"]]);
    assert.equal(keys.arm("n", 100), true);
    assert.equal(keys.turn("n", 200), true);
    keys.look(300, sessions({ k: 5, n: 6 }));
    assert.deepEqual([keys.active, keys.standby(300)], ["n", []]);
  });

  test("a peer that names a key again that it has left is believed when it uses that, or after a while", () => {
    const restored = () => {
      const keys = new PeerKeys({ current: "k" }, sessions({ k: 1 }));
      keys.bring({ current: "n" }, 0);
      keys.look(0, sessions({ n: 2 }));
      keys.bring({ current: "k" }, 1_000);
      return keys;
    };
    const keys = restored();
    assert.deepEqual([keys.active, keys.standby(1_000)], ["n", ["k"]]);
    assert.equal(keys.look(2_000, sessions({ n: 2, k: 1 })), false);
    keys.bring({ current: "n", next: "k" }, 2_500);
    assert.equal(keys.look(9_000, sessions({ n: 2, k: 1 })), false, "it was a mistake");
    assert.equal(keys.active, "n");
    const used = restored();
    assert.equal(used.look(1_500, sessions({ n: 2, k: 3 })), true);
    assert.equal(used.active, "k");
    const late = restored();
    assert.equal(late.look(4_100, sessions({ n: 2 })), true);
    assert.deepEqual([late.active, late.standby(4_100)], ["k", []]);
  });
});
