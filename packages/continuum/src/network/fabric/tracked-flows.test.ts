import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isHidden } from "../gateway/hidden-flows.ts";
import { parseRange } from "../ip-range.ts";
import { type FlowSort, flowReader, listMessage, TRANSLATED, UNANSWERED } from "./tracked-flows.ts";

const number = (text: string) => parseRange(text)?.first ?? 0n;
const ranges = (...texts: string[]) => texts.flatMap((text) => parseRange(text) ?? []);

describe("A flow with the node's address", () => {
  const own = ranges("10.42.0.0/16");
  const remote = ranges("240.0.0.0/16", "240.7.0.0/16");
  const flow = (from: string, answersFrom: string, answersTo: string) =>
    ({
      family: 4,
      from: number(from),
      to: number("10.96.0.1"),
      answersFrom: number(answersFrom),
      answersTo: number(answersTo),
    }) as const;

  it("is one of an own pod with a peer's, by whatever address of a Service, that is answered elsewhere than at the pod", () => {
    assert.ok(isHidden(flow("10.42.1.2", "240.7.0.9", "192.0.2.1"), own, remote));
    assert.ok(!isHidden(flow("10.42.1.2", "240.7.0.9", "10.42.1.2"), own, remote), "it has its own");
    assert.ok(!isHidden(flow("10.42.1.2", "198.51.100.1", "192.0.2.1"), own, remote), "it is no link's");
    assert.ok(!isHidden(flow("192.0.2.3", "240.7.0.9", "192.0.2.1"), own, remote), "it is no pod's");
  });
});

describe("What the kernel tells of flows", () => {
  it("is asked for by family, and of one sort of flows alone", () => {
    const [head, v4] = ["24000000" + "0101" + "0103" + "0000000000000000", "02000000"];
    const listed = (sort: FlowSort) => listMessage(4, sort).toString("hex");
    assert.equal(listed(TRANSLATED), `${head}${v4}0800030000000010${"08001a0000000010"}`);
    assert.equal(listed(UNANSWERED), `${head}${v4}0800030000000000${"08001a0000000002"}`);
    assert.equal(listMessage(6, UNANSWERED)[16], 10);
  });

  it("is read, in whatever pieces it comes, and answered by what has it forgotten", () => {
    for (const size of [1, 9, 1000]) {
      const reader = flowReader();
      const all = Buffer.concat([SAID, LAST]);
      const events = [];
      for (let at = 0; at < all.length; at += size) events.push(...reader.read(all.subarray(at, at + size)));
      const [first, last] = events;
      assert.ok(first !== undefined && "flow" in first);
      const { from, to, answersFrom, answersTo, family, forget } = first.flow;
      assert.deepEqual([first.flow.protocol, first.flow.isAnswered], [17, false]);
      assert.deepEqual(
        [family, from, to, answersFrom, answersTo],
        [4, number("10.42.0.2"), number("240.0.0.3"), number("240.0.0.3"), number("192.0.2.1")],
      );
      assert.equal(forget.readUInt16LE(4), 0x102);
      assert.ok(forget.includes(Buffer.from("0a2a0002", "hex")) && !forget.includes(Buffer.from("c0000201", "hex")));
      assert.deepEqual(last, { isLast: true });
    }
  });
});

const tuple = (kind: number, source: string, destination: string) =>
  Buffer.from(
    `2400${kind.toString(16).padStart(2, "0")}80` +
      `14000180080001${"00"}${source}080002${"00"}${destination}` +
      "0c000280" +
      "0500010011000000",
    "hex",
  );
const parts = [
  tuple(1, "0a2a0002", "f0000003"),
  tuple(2, "f0000003", "c0000201"),
  Buffer.from("08000c0000000007", "hex"),
  Buffer.from("0800030000000118", "hex"),
];
const body = Buffer.concat([Buffer.from("02000000", "hex"), ...parts]);
const head = Buffer.alloc(16);
head.writeUInt32LE(16 + body.length, 0);
head.writeUInt16LE(0x100, 4);
const SAID = Buffer.concat([head, body]);
const LAST = Buffer.from("14000000" + "0300" + "0200" + "0000000000000000" + "00000000", "hex");
