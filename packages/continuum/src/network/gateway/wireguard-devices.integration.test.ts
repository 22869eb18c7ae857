import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { NetworkNamespaces, wireguardKeys } from "@fjord/testbed/namespaces";
import { networkSkip, wireguardProgram } from "@fjord/testbed/testing";
import { type WireguardPeer, wireguardChange } from "../fabric/wireguard-change.ts";
import { NodeNetwork } from "./node-network.ts";
import { testChoice } from "./test-wireguard.ts";
import { type WireguardChoice, WireguardDevices } from "./wireguard-devices.ts";
import { WireguardSocket } from "./wireguard-socket.ts";
import { WireguardTool } from "./wireguard-tool.ts";

describe("Interfaces of WireGuard", { skip: networkSkip("wg") }, () => {
  const namespaces = new NetworkNamespaces();
  const name = `v${process.pid.toString(36)}d`;
  /** Whether the kernel has it: here it has, or has not. */
  const isKernels = testChoice() === "kernel";
  let network: NodeNetwork;
  const devices = (choice?: WireguardChoice) =>
    new WireguardDevices({ network, probeName: `${name}9`, logger: silentLogger, ...(choice && { choice }) });

  before(async () => {
    await namespaces.add("node");
    network = new NodeNetwork({ prefix: namespaces.prefix("node"), wireguardProgram: wireguardProgram() });
  });
  after(() => namespaces[Symbol.asyncDispose]());

  it("are the kernel's where it can make them, and a program's where it cannot, whoever asks", async () => {
    const chosen = await devices().choose(false);
    assert.equal(chosen, isKernels ? "Kernel" : "Userspace");
    assert.equal(await network.linkKind(`${name}9`), undefined, "the probe leaves nothing");
    assert.equal(await devices("userspace").choose(false), "Userspace");
    if (isKernels) assert.equal(await devices("kernel").choose(true), "Kernel");
    else await assert.rejects(devices("kernel").choose(false), /cannot be: .*ip link add/);
  });

  it("are a program's where a peer is behind a hub, and stay so", async () => {
    const some = devices();
    await some.choose(false);
    assert.equal(await some.choose(true), "Userspace");
    assert.equal(await some.choose(false), "Userspace");
  });

  it("are made once, and anew where another sort is wanted", async () => {
    const [first, second] = [devices(), devices("userspace")];
    await first.choose(false);
    await second.choose(false);
    assert.deepEqual([await first.bring(`${name}0`), await first.bring(`${name}0`)], [true, false]);
    assert.equal(await network.linkKind(`${name}0`), isKernels ? "wireguard" : "tun");
    assert.deepEqual([await second.bring(`${name}0`), await second.bring(`${name}0`)], [isKernels, false]);
    assert.equal(await network.linkKind(`${name}0`), "tun");
  });

  it("are the same by wg as by their own socket, and keys are on no command line", async () => {
    const [socket, tool] = [new WireguardSocket(`${name}0`), new WireguardTool(`${name}0`, network)];
    const keys = [wireguardKeys(), wireguardKeys(), wireguardKeys()].map(({ private: secret, public: known }) =>
      [secret, known].map((key) => Buffer.from(key, "base64").toString("hex")),
    );
    const [[own = ""] = [], [, a = ""] = [], [, b = ""] = []] = keys;
    const peer = (publicKey: string, ranges: string[], endpoint?: string) => ({
      publicKey,
      ranges,
      keepaliveSeconds: endpoint === undefined ? 0 : 25,
      ...(endpoint !== undefined && { endpoint }),
    });
    const change = (before: WireguardPeer[], after: WireguardPeer[]) => {
      const [from, to] = [before, after].map((all) => new Map(all.map((each) => [each.publicKey, each])));
      return wireguardChange(from ?? new Map(), to ?? new Map());
    };
    const first = [peer(a, ["10.1.0.0/16", "fd01::1"], "192.0.2.1:7"), peer(b, ["10.2.0.0/16"], "[2001:db8::1]:8")];
    await tool.set([`private_key=${own}`, "listen_port=51999", ...change([], first)]);
    const seen = await socket.get();
    assert.deepEqual([seen.privateKey, seen.listenPort], [own, 51_999]);
    assert.deepEqual(await tool.get(), seen);
    assert.deepEqual(change([...seen.peers.values()], first), []);
    // One goes, and the other gets what it had.
    const second = [peer(b, ["10.1.0.0/16", "10.2.0.0/16"])];
    await tool.set(change(first, second));
    const after = await socket.get();
    assert.deepEqual([...after.peers.keys()], [b]);
    assert.deepEqual([...(after.peers.get(b)?.ranges ?? [])].sort(), ["10.1.0.0/16", "10.2.0.0/16"]);
    assert.equal(after.peers.get(b)?.endpoint, "[2001:db8::1]:8", "what is not spoken of stays");
    await assert.rejects(new WireguardTool(`${name}7`, network).get(), /does not answer as it should/);
  });
});
