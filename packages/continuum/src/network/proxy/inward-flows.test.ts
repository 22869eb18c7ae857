import assert from "node:assert/strict";
import { once } from "node:events";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { FLOW, flowFrame } from "./flow-frames.ts";
import { InwardFlows } from "./inward-flows.ts";

const question = Buffer.from(JSON.stringify({ protocol: "UDP", address: "127.0.0.1", port: 9 }));

test("a flow that was given up while it was opened leaves nothing, though another one of its number is opened", async () => {
  let [taken, released, noted, forgotten] = [0, 0, 0, 0];
  const found: (() => void)[] = [];
  const flows = new InwardFlows({
    led: {
      lead: () =>
        new Promise((resolve) => found.push(() => resolve({ namespace: "shop", isAllowed: () => true, client: {} }))),
    } as never,
    carried: {
      take: () => {
        taken++;
        return () => void released++;
      },
    } as never,
    clients: {
      note: () => {
        noted++;
        return () => void forgotten++;
      },
    } as never,
    metrics: { begun: () => {}, refused: () => {} } as never,
    signal: new AbortController().signal,
  });
  const answers: Buffer[] = [];
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      answers.push(chunk);
      done();
    },
  });
  const served = flows.serve("a".repeat(26), stream);
  for (const kind of [FLOW.open, FLOW.close, FLOW.open]) stream.push(flowFrame(kind, 7, question));
  const until = async (what: string, holds: () => boolean) => {
    for (const deadline = Date.now() + 20_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 5)))
      assert.ok(Date.now() < deadline, what);
  };
  await until("both are looked up", () => found.length === 2);
  found[0]?.();
  await until("the first has a socket, and is let go", () => released === 1);
  assert.equal(answers.length, 0);
  found[1]?.();
  await until("the second is open", () => answers.length === 1);
  assert.deepEqual([taken, released, noted, forgotten], [2, 1, 1, 0]);
  for (let i = 0; i < 200; i++) for (const kind of [FLOW.open, FLOW.close]) stream.push(flowFrame(kind, 8, question));
  await until("all but some are refused", () => answers.length === 1 + 200 - 64);
  assert.equal(found.length, 2 + 64, "those that were given up are looked up all the same");
  stream.destroy();
  await once(stream, "close");
  await served;
  assert.deepEqual([taken, released, noted, forgotten], [2, 2, 1, 1]);
});
