import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerBytes, questionBytes, readProbeMessage, wordBytes } from "./probe-message.ts";

describe("What gateways send each other", () => {
  it("is a question of the size that a whole packet of it has", () => {
    assert.equal(questionBytes({ size: 1380, number: 1 }).length, 1332);
    assert.equal(questionBytes({ size: 0, number: 1 }).length, 10, "what it says has room");
  });

  it("says whether another way is tried, and how long ago both heard each other", () => {
    const read = (more: { isTrying?: boolean; heardMsAgo?: number }) =>
      readProbeMessage(questionBytes({ size: 64, number: 7, ...more }));
    assert.deepEqual(read({}), { says: "question", isTrying: false });
    assert.deepEqual(read({ isTrying: true }), { says: "question", isTrying: true });
    assert.deepEqual(read({ heardMsAgo: 1_200.4 }), { says: "question", isTrying: false, heardMsAgo: 1_200 });
    assert.deepEqual(read({ heardMsAgo: 0 }), { says: "question", isTrying: false, heardMsAgo: 0 });
    for (const heardMsAgo of [-1, 65_536])
      assert.deepEqual(read({ heardMsAgo }), { says: "question", isTrying: false });
  });

  it("is answered by as many bytes as the question has, with its number", () => {
    const question = questionBytes({ size: 1280, number: 0xffff_ffff });
    const answer = answerBytes(question);
    assert.equal(answer.length, question.length);
    assert.deepEqual(readProbeMessage(answer), { says: "answer", number: 0xffff_ffff, size: 1280 });
    assert.deepEqual(readProbeMessage(question), { says: "question", isTrying: false }, "it stays a question");
  });

  it("is a word of others, whatever that says", () => {
    assert.deepEqual(readProbeMessage(wordBytes(Buffer.from("key"))), { says: "word", word: Buffer.from("key") });
    assert.deepEqual(readProbeMessage(wordBytes(Buffer.alloc(0))), { says: "word", word: Buffer.alloc(0) });
  });

  it("is nothing where it is too short, of somebody else, or of a sort that nobody knows", () => {
    const question = questionBytes({ size: 64, number: 1 });
    for (const length of [0, 1, 7]) assert.equal(readProbeMessage(question.subarray(0, length)), undefined);
    assert.equal(readProbeMessage(Buffer.concat([Buffer.from([0, 0]), question.subarray(2)])), undefined);
    for (const kind of [0, 4, 255]) {
      const other = Buffer.from(question);
      other.writeUInt8(kind, 2);
      assert.equal(readProbeMessage(other), undefined);
    }
  });

  it("does not say when somebody was heard where it ends before that", () => {
    const question = questionBytes({ size: 64, number: 1, heardMsAgo: 5 });
    for (const length of [8, 9])
      assert.deepEqual(readProbeMessage(question.subarray(0, length)), { says: "question", isTrying: false });
  });
});
