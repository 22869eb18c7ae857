import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, silentLogger, systemClock } from "@fjord/base";
import { type Claim, OnlyGateway, type OnlyGatewayOptions } from "./only-gateway.ts";

/** A node whose claim one has at a time. */
class TestNode {
  #end: ((reason: string) => void) | undefined;
  readonly said: string[] = [];

  get isTaken(): boolean {
    return this.#end !== undefined;
  }

  readonly take = async (): Promise<Claim | undefined> => {
    if (this.#end !== undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<string>();
    const end = (reason: string) => {
      if (this.#end === end) this.#end = undefined;
      resolve(reason);
    };
    this.#end = end;
    return { ended: promise, [Symbol.asyncDispose]: async () => end("disposed") };
  };

  kill(): void {
    this.#end?.("killed");
  }

  begin(options: Partial<OnlyGatewayOptions> = {}): Promise<OnlyGateway> {
    const logger: Logger = { ...silentLogger, warn: (text) => void this.said.push(text) };
    const { signal } = new AbortController();
    return OnlyGateway.begin({ take: this.take, clock: systemClock, logger, signal, patienceMs: 0, ...options });
  }
}

const until = async (holds: () => boolean) => {
  for (const end = Date.now() + 60_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 5)))
    assert.ok(Date.now() < end);
};

describe("The only gateway of a node", () => {
  it("is one at a time: the second is refused, or comes when the first has gone", async () => {
    const node = new TestNode();
    const first = await node.begin();
    await assert.rejects(node.begin(), { code: "GATEWAY_ALREADY_RUNS" });
    const second = node.begin({ patienceMs: 60_000 });
    await first[Symbol.asyncDispose]();
    await (await second)[Symbol.asyncDispose]();
    assert.equal(node.isTaken, false);
  });

  it("stays the only one when what says so is killed", async () => {
    const node = new TestNode();
    await using only = await node.begin();
    node.kill();
    assert.equal(node.isTaken, false);
    await until(() => node.isTaken);
    assert.equal(only.lost.aborted, false);
  });

  it("ends where another has come in between", async () => {
    const node = new TestNode();
    await using only = await node.begin();
    node.kill();
    await using _ = await node.begin();
    await until(() => only.lost.aborted);
    assert.equal(only.lost.reason.code, "GATEWAY_ALREADY_RUNS");
  });

  it("goes on where nobody can be the only one, and says so", async () => {
    const node = new TestNode();
    await using only = await node.begin({ take: () => Promise.reject(new Error("there is no perl")) });
    assert.equal(only.lost.aborted, false);
    assert.deepEqual(node.said, ["a second gateway on this node would not be noticed"]);
  });
});
