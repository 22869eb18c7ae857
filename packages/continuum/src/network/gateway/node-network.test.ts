import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import { NodeFirewall } from "./node-firewall.ts";
import { NodeNetwork } from "./node-network.ts";

/** A folder for files of this process, while it is used. */
async function temporary() {
  const before = process.env.TMPDIR;
  const path = await mkdtemp(join(tmpdir(), "fjord-test-"));
  process.env.TMPDIR = path;
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      await rm(path, { recursive: true });
    },
  };
}

describe("a command that changes the node's network", () => {
  it("is ended where it hangs, and told so", async () => {
    const network = new NodeNetwork({ prefix: ["sh", "-c", "exec sleep 600"], longestMs: 200 });
    await assert.rejects(network.nft("flush ruleset"), /did not end within 0.2 s/);
    await assert.rejects(network.startWireguard("fjord0"), /did not end within 0.2 s/);
  });

  it("reads what it makes from no file that a gateway that is killed would leave", async () => {
    await using directory = await temporary();
    const network = new NodeNetwork({ prefix: ["sh", "-c", 'cat "$5"; ls "$TMPDIR"', "sh"] });
    assert.equal(await network.nftShown("table inet fjord\n"), "table inet fjord\n");
    assert.deepEqual(await readdir(directory.path), []);
  });

  it("is made though there is no disk to write to", async () => {
    await using directory = await temporary();
    const made = join(directory.path, "made");
    const network = new NodeNetwork({ prefix: ["sh", "-c", `cat >> ${made}; echo '{"nftables":[]}'`, "sh"] });
    process.env.TMPDIR = "/dev/full";
    await new NodeFirewall(network).bring(fabricOf(testState(1), { interfacePrefix: "fjord" }));
    assert.match(await readFile(made, "utf8"), /table inet fjord/);
  });
});
