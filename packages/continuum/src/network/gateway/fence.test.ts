import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { Fence } from "./fence.ts";
import { NodeNetwork } from "./node-network.ts";

const heir = { devices: ["eth0"], ranges: ["240.0.0.0/16", "fd66::/64"] };

describe("The fence of links", () => {
  let told: string[];
  let warnings: string[];
  let refuses: (text: string) => boolean;
  let fence: Fence;
  beforeEach(() => {
    [told, warnings, refuses] = [[], [], () => false];
    const network = new NodeNetwork();
    network.nft = async (text) => {
      if (refuses(text)) throw new Error("Operation not supported");
      told.push(text);
    };
    const warn = (message: string) => void warnings.push(message);
    fence = new Fence({ network, clock: new ManualClock(), logger: { ...silentLogger, warn } });
  });

  it("leads what is for peers to the heir, and nothing else", async () => {
    await fence.keep([51_820], heir);
    const [text = ""] = told;
    assert.match(text, /set peers4 .* elements = { 240\.0\.0\.0\/16 }/);
    assert.match(text, /set peers6 .* elements = { fd66::\/64 }/);
    for (const chain of ["lead", "lead-own", "give-back", "give-back-own"])
      assert.match(text, new RegExp(`chain ${chain} {[^}]*ip daddr != @peers4 return\\s+ip6 daddr != @peers6 return`));
    assert.doesNotMatch(text, /fjord\*/, "others' interfaces may begin so");
    await fence.rest();
  });

  it("stands where the kernel cannot lead, and that is said once", async () => {
    refuses = (text) => text.includes("fib ");
    await fence.keep([51_820], heir);
    await fence.keep([51_820], heir);
    await fence.keep([51_820, 51_821], heir);
    assert.equal(told.length, 2);
    assert.match(told[1] ?? "", /udp sport { 51820, 51821 }/);
    assert.equal(warnings.length, 1);
    await fence.rest();
  });

  it("fails where it is not led to the heir that fails, and leads later", async () => {
    refuses = () => true;
    await assert.rejects(fence.keep([51_820], heir), /not supported/);
    refuses = () => false;
    await fence.keep([51_820], heir);
    assert.match(told[0] ?? "", /chain lead /);
    assert.deepEqual(warnings, []);
    await fence.rest();
  });

  it("silences links at the end at once where there is an heir, and else soon", async () => {
    await fence.keep([51_820]);
    await fence.leave();
    assert.equal(told.length, 1);
    await fence.keep([51_820], heir);
    await fence.leave();
    assert.equal(told.at(-1), "flush set inet fjord-fence live\nflush set inet fjord-fence awake\n");
    await fence.keep([51_820], heir);
    refuses = () => true;
    await fence.leave();
    assert.equal(warnings.length, 1);
  });
});
