import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KeyTurn } from "./key-turn.ts";
import { readKeyWord, writeKeyWord } from "./key-words.ts";

describe("KeyTurn", () => {
  const all = (at: number | undefined) => new Map([["0 b", at]]);

  test("a site alone, or whose peers are away, waits for nobody but a moment", () => {
    assert.equal(new KeyTurn(0).isReady(1_000, new Map()), false);
    assert.equal(new KeyTurn(0).isReady(1_500, new Map()), true);
    assert.equal(new KeyTurn(0).isReady(1_500, all(undefined)), true);
    assert.equal(new KeyTurn(5_000).isReady(7_000, all(4_900)), true, "who was there before, and is not now");
  });

  test("a peer that is there has to know the key, by what it says now", () => {
    const turn = new KeyTurn(0);
    turn.answered("0 b", "unknown", 1_400);
    assert.equal(turn.isReady(1_500, all(1_400)), false);
    turn.answered("0 b", "later", 1_900);
    assert.equal(turn.isReady(2_000, all(1_900)), false);
    turn.answered("0 b", "known", 2_000);
    assert.equal(turn.isReady(2_100, all(2_000)), true);
    assert.equal(turn.isReady(2_900, all(2_800)), false, "that was long ago");
  });

  test("one that never hears of it, as its agent is away, is not waited for for ever", () => {
    const turn = new KeyTurn(0);
    turn.answered("0 b", "unknown", 599_000);
    assert.equal(turn.isReady(599_000, all(598_900)), false);
    assert.equal(turn.isReady(600_000, all(599_900)), true);
  });

  test("one that knows nothing of such questions is waited for for a while", () => {
    const turn = new KeyTurn(0);
    assert.equal(turn.isReady(19_000, all(18_900)), false);
    assert.equal(turn.isReady(20_000, all(19_900)), true);
  });
});

describe("words about keys", () => {
  test("are read as they were written", () => {
    for (const says of ["ask", "known", "unknown", "later", "take", "heard"] as const)
      assert.deepEqual(readKeyWord(writeKeyWord({ says, key: "ab".repeat(32) })), { says, key: "ab".repeat(32) });
  });

  test("are nothing where they are anything else", () => {
    for (const bytes of [[], [0], [6, ...Array(32).fill(1)], [0, ...Array(31).fill(1)], [0, ...Array(33).fill(1)]])
      assert.equal(readKeyWord(Buffer.from(bytes)), undefined);
  });
});
