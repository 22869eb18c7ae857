import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, silentLogger } from "@fjord/base";
import { flowBound, flowSets } from "../fabric/flow-bound.ts";
import { BoundedFlows } from "./bounded-flows.ts";

describe("Bounds of a peer's flows on a node", () => {
  const node = (change: Partial<ConstructorParameters<typeof BoundedFlows>[0]["network"]> = {}) => {
    const said: string[] = [];
    const state = { refused: 5, rule: "one" };
    const network = {
      nft: async (text: string) => void said.push(text),
      nftTerse: async () =>
        JSON.stringify({
          nftables: [
            { counter: { name: "refused", packets: state.refused } },
            { rule: { chain: "count", expr: [state.rule] } },
          ],
        }),
      rememberedFlows: async () => 65_536 as number | undefined,
      ...change,
    };
    return { network, said, state };
  };

  it("are by what the kernel remembers, and by little where it does not say", async () => {
    const { network, said } = node();
    await new BoundedFlows({ network, logger: silentLogger }).bring(["fjord0"], 1);
    assert.match(said[0] ?? "", /limit rate 15360\/minute/);
    const other = node({ rememberedFlows: async () => undefined });
    await new BoundedFlows({ network: other.network, logger: silentLogger }).bring(["fjord0"], 1);
    assert.equal(other.said[0], said[0]);
  });

  it("are others when peers are so many that each has another share, and only then", async () => {
    const { network, said } = node();
    const flows = new BoundedFlows({ network, logger: silentLogger });
    await flows.share(100);
    assert.deepEqual(said, []);
    await flows.bring(["fjord0"], 1);
    await flows.share(4);
    assert.equal(said.length, 1);
    await flows.share(5);
    assert.equal(said.length, 2);
    assert.match(said[1] ?? "", /^table inet fjord-flows\ndelete table inet fjord-flows\n/);
    assert.match(said[1] ?? "", /limit rate 7680\/minute/);
  });

  it("keep their counts where they are the same, whoever has brought them", async () => {
    const bound = flowSets(flowBound(65_536, 1));
    const nftables = Object.values(bound).map((name) => ({ set: { name } }));
    const { network, said } = node({ nftTerse: async () => JSON.stringify({ nftables }) });
    await new BoundedFlows({ network, logger: silentLogger }).bring(["fjord0"], 2);
    assert.doesNotMatch(said[0] ?? "", /delete/);
  });

  it("are slower where the kernel remembers closed ones for longer, and cannot be told", async () => {
    const said: string[] = [];
    const { network } = node({
      nft: async (text: string) => {
        if (text.includes("ct timeout")) throw new Error("Operation not supported");
        said.push(text);
      },
    });
    await new BoundedFlows({ network, logger: silentLogger }).bring(["fjord0"], 1);
    assert.match(said[0] ?? "", /limit rate 1280\/minute/);
  });

  it("count what is refused since this process began, also where the table is made anew", async () => {
    const { network, state } = node();
    const flows = new BoundedFlows({ network, logger: silentLogger });
    await flows.bring(["fjord0"], 1);
    assert.equal(flows.refused, 0);
    state.refused = 8;
    assert.deepEqual(await flows.drift(), []);
    assert.equal(flows.refused, 3);
    state.refused = 2;
    await flows.drift();
    assert.equal(flows.refused, 5);
    state.rule = "other";
    assert.deepEqual(await flows.drift(), ["chain count has other rules"]);
  });

  it("are done without where the kernel cannot count, which is said once, and is no drift", async () => {
    const warned: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (message) => void warned.push(message) };
    const failing = async () => {
      throw new Error("No such file or directory");
    };
    const flows = new BoundedFlows({ network: node({ nft: failing }).network, logger });
    await flows.bring(["fjord0"], 1);
    await flows.bring(["fjord0"], 1);
    assert.deepEqual(warned, ["a peer may open any number of connections on this node"]);
    assert.deepEqual(await flows.drift(), []);
  });
});
