import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { writeKeyWord } from "./key-words.ts";
import { OwnKey } from "./own-key.ts";

describe("a gateway that is told of keys by a peer that means harm", () => {
  it("looks at one question at a time, and takes one key in a second, however many words come", async () => {
    const clock = new ManualClock();
    const [asked, turned]: [string[], string[]] = [[], []];
    let answerAsk = (_: boolean) => {};
    const ownKey = new OwnKey({
      clock,
      logger: silentLogger,
      gateway: {
        usedKey: async () => undefined,
        turnKey: async () => {},
        peerAsks: (siteId) => {
          asked.push(siteId);
          return new Promise((resolve) => {
            answerAsk = resolve;
          });
        },
        peerTurns: async (siteId) => void turned.push(siteId),
      },
    });
    let say = (_siteId: string, _word: Buffer) => {};
    let answers = 0;
    ownKey.attach(0, {
      say: () => void answers++,
      onSaid: (listener) => {
        say = listener;
      },
      answeredAt: () => undefined,
    });
    const word = (says: "ask" | "take") => writeKeyWord({ says, key: randomBytes(32).toString("hex") });
    for (let i = 0; i < 1_000; i++) for (const says of ["take", "ask"] as const) say("evil", word(says));
    say("honest", word("take"));
    say("honest", word("ask"));
    assert.deepEqual(
      [asked, turned],
      [
        ["evil", "honest"],
        ["evil", "honest"],
      ],
    );
    answerAsk(true);
    await clock.advance(1_000);
    const before = answers;
    say("evil", word("take"));
    say("honest", word("ask"));
    assert.deepEqual([turned.length, answers - before], [3, 1]);
    await clock.advance(0);
    assert.equal(asked.length, 3, "once it was answered, it may ask again");
    for (let second = 0; second < 100; second++) {
      say("evil", word("take"));
      await clock.advance(1_000);
    }
    assert.ok(turned.length < 40, `it was waited for ${turned.length} times`);
  });

  it("has WireGuard looked at for a question no more often than gateways ask", async () => {
    const clock = new ManualClock();
    let asked = 0;
    const ownKey = new OwnKey({
      clock,
      logger: silentLogger,
      gateway: {
        usedKey: async () => undefined,
        turnKey: async () => {},
        peerAsks: async () => ++asked > 0,
        peerTurns: async () => {},
      },
    });
    let say = (_siteId: string, _word: Buffer) => {};
    let answers = 0;
    const onSaid = (listener: typeof say) => {
      say = listener;
    };
    ownKey.attach(0, { say: () => void answers++, onSaid, answeredAt: () => undefined });
    const ask = () => writeKeyWord({ says: "ask", key: randomBytes(32).toString("hex") });
    for (let ms = 0; ms < 1_000; ms += 5) {
      say("evil", ask());
      if (ms % 100 === 0) say("honest", ask());
      await clock.advance(5);
    }
    assert.ok(asked <= 10 + 13, `${asked} times`);
    assert.equal(answers, asked);
    assert.ok(asked >= 10 + 10, "who asks as gateways do is answered each time");
  });
});
