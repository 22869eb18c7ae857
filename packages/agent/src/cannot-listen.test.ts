import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { AgentCannotListen, explainedError } from "./cannot-listen.ts";

async function listenError(port: number, host: string): Promise<Error> {
  const [error] = await once(createServer().listen(port, host), "listening").then(
    () => assert.fail("it listens"),
    (reason: Error) => [reason],
  );
  return error as Error;
}

test("a port that another program has, and an address of another machine, are told in words", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const told = explainedError(await listenError(port, "127.0.0.1"));
  taken.close();
  assert.ok(told instanceof AgentCannotListen);
  assert.equal(told.message, `the agent cannot listen on 127.0.0.1:${port}: another program does`);
  const foreign = explainedError(await listenError(7443, "192.0.2.1")) as Error;
  assert.equal(foreign.message, "the agent cannot listen on 192.0.2.1:7443: this machine does not have that address");
});

test("what is not about a port stays what it is", () => {
  const other = Object.assign(new Error("connect ECONNREFUSED"), { syscall: "connect" });
  for (const error of [other, new Error("no"), "text", undefined]) assert.equal(explainedError(error), error);
});
