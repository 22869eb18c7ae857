import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "@fjord/base";
import { onlyGateway } from "./only-gateway.ts";

const linux = process.platform === "linux" ? false : "names of sockets that are no files are Linux's";

it("one gateway at a time is on a node: the second is refused, or comes when the first has gone", {
  skip: linux,
}, async () => {
  const name = `\0fjord-gateway-test-${process.pid}`;
  const { signal } = new AbortController();
  const first = await onlyGateway(systemClock, signal, 0, name);
  await assert.rejects(onlyGateway(systemClock, signal, 0, name), { code: "GATEWAY_ALREADY_RUNS" });
  const second = onlyGateway(systemClock, signal, 60_000, name);
  await first[Symbol.asyncDispose]();
  await (await second)[Symbol.asyncDispose]();
});
