import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { NetworkNamespaces } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { NodeClaim } from "./node-claim.ts";
import { NodeNetwork } from "./node-network.ts";

const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

describe("Who keeps the network of a node", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  const started: ChildProcess[] = [];
  const networkOf = (name: string, ...more: string[]) =>
    new NodeNetwork({ prefix: [...namespaces.prefix(name), ...more] });

  before(async () => {
    await namespaces.add("one");
    await namespaces.add("two");
  });
  after(async () => {
    for (const child of started) child.kill("SIGKILL");
    await namespaces[Symbol.asyncDispose]();
  });

  it("is one process at a time in each network, whatever files it sees", async () => {
    await using first = await NodeClaim.take(networkOf("one"));
    assert.ok(first);
    assert.equal(await NodeClaim.take(networkOf("one")), undefined);
    assert.equal(await NodeClaim.take(networkOf("one", "unshare", "--mount", "--ipc", "--uts")), undefined);
    await using other = await NodeClaim.take(networkOf("two"));
    assert.ok(other);
  });

  it("is free when it is given back, and when its process is killed", async () => {
    const first = await NodeClaim.take(networkOf("one"));
    await first?.[Symbol.asyncDispose]();
    const path = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
    const script = `const { NodeClaim } = await import(${path("./node-claim.ts")});
      const { NodeNetwork } = await import(${path("./node-network.ts")});
      globalThis.claim = await NodeClaim.take(new NodeNetwork());
      console.log(claim !== undefined);
      setInterval(() => {}, 1_000);`;
    const [program = "", ...args] = [
      ...namespaces.prefix("one"),
      process.execPath,
      "--input-type=module",
      "-e",
      script,
    ];
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    started.push(child);
    assert.equal(String(await once(child.stdout, "data")), "true\n");
    assert.equal(await NodeClaim.take(networkOf("one")), undefined);
    child.kill("SIGKILL");
    for (const end = Date.now() + 60_000; ; ) {
      await using next = await NodeClaim.take(networkOf("one"));
      if (next !== undefined) break;
      assert.ok(Date.now() < end);
    }
  });

  it("is nobody who could not change it anyway, nor kept from others by them", async () => {
    await assert.rejects(NodeClaim.take(networkOf("one", ...NOBODY)), /CAP_NET_ADMIN/);
    await assert.rejects(
      NodeClaim.take(networkOf("one", ...NOBODY, "unshare", "--user", "--map-root-user")),
      /CAP_NET_ADMIN/,
    );
    await using first = await NodeClaim.take(networkOf("one"));
    assert.ok(first);
  });

  it("is said where that cannot be known", async () => {
    const without = new NodeNetwork({ prefix: ["/nowhere"] });
    await assert.rejects(NodeClaim.take(without), /there is no perl/);
  });
});
