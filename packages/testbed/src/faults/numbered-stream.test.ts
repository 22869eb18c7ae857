import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NumberedStream } from "./numbered-stream.ts";

const records = (count: number) => {
  const from = new NumberedStream();
  return Array.from({ length: count }, () => from.next());
};

describe("a numbered stream", () => {
  it("finds nothing wrong with what comes whole, however it is cut up", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.integer({ min: 1, max: 50 })), (count, cuts) => {
        const to = new NumberedStream();
        let bytes = Buffer.concat(records(count));
        for (const cut of cuts) {
          to.take(bytes.subarray(0, cut));
          bytes = bytes.subarray(cut);
        }
        to.take(bytes);
        assert.equal(to.fault, undefined);
        assert.equal(to.received, count);
      }),
    );
  });

  it("finds what is lost, doubled or out of order", () => {
    const [one, two, three] = records(3) as [Buffer, Buffer, Buffer];
    for (const wrong of [
      [one, three],
      [one, one, two],
      [two, one],
    ]) {
      const to = new NumberedStream();
      to.take(Buffer.concat(wrong));
      assert.notEqual(to.fault, undefined);
    }
  });

  it("knows what the other side has", () => {
    const [a, b] = [new NumberedStream(), new NumberedStream()];
    b.take(Buffer.concat([a.next(), a.next()]));
    a.take(b.next());
    assert.deepEqual([a.sent, a.confirmed, a.fault], [2, 2, undefined]);
    const other = new NumberedStream();
    other.take(b.next());
    assert.match(String(other.fault), /has 2 of 0|came after/);
  });
});
