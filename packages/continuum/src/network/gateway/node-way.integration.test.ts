import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { EchoPod, NetworkNamespaces } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import type { WayState } from "../fabric/way.ts";
import { NodeNetwork } from "./node-network.ts";
import { NodeWay } from "./node-way.ts";

/** By family: where the two nodes are, a pod of the one, and what stands behind the gateway on the other. */
const PLACES = {
  4: {
    node: "192.0.2.2",
    gateway: "192.0.2.1",
    pods: "10.42.0.0/16",
    pod: "10.42.0.2",
    range: "240.0.0.0/16",
    far: "240.0.0.9",
  },
  6: {
    node: "2001:db8::2",
    gateway: "2001:db8::1",
    pods: "fd42::/64",
    pod: "fd42::2",
    range: "fd66:6a6f::/64",
    far: "fd66:6a6f::9",
  },
} as const;

describe("A node that leads packets to its gateway through a tunnel", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  let there: EchoPod;
  let here: EchoPod;

  before(async () => {
    for (const name of ["node", "gateway"]) await namespaces.add(name);
    await namespaces.cable("node", "eth0", "gateway", "eth0");
    for (const { node, gateway, pods, pod, far } of Object.values(PLACES)) {
      const length = node.includes(":") ? 64 : 24;
      for (const [name, address] of [
        ["node", node],
        ["gateway", gateway],
      ] as const)
        await namespaces.ip(name, "address", "add", `${address}/${length}`, "dev", "eth0");
      await namespaces.ip("node", "address", "add", pod, "dev", "lo");
      await namespaces.ip("gateway", "address", "add", far, "dev", "lo");
      // Answers take the pods' own network.
      await namespaces.ip("gateway", "route", "add", pods, "via", node);
    }
    there = await EchoPod.start(namespaces, "gateway");
    here = await EchoPod.start(namespaces, "node");
  });
  after(() => namespaces[Symbol.asyncDispose]());

  const wayOn = (name: string) =>
    new NodeWay({
      network: new NodeNetwork({ prefix: namespaces.prefix(name) }),
      interfacePrefix: `y${process.pid.toString(36)}`,
      alwaysTunnel: true,
      logger: silentLogger,
    });

  for (const family of [4, 6] as const) {
    const { node, gateway, pods, pod, range, far } = PLACES[family];

    it(`is heard over IPv${family}`, async () => {
      const [follows, carries] = [wayOn("node"), wayOn("gateway")];
      const state: WayState = { own: [pods], ranges: [range], gateway: [], nodes: [], mtu: 1380 };
      await carries.apply({ ...state, nodes: [node] });
      await follows.apply({ ...state, gateway: [gateway] });
      const question = { proto: "udp", from: pod, message: `over IPv${family}`, patienceMs: 10_000 } as const;
      assert.equal(await here.ask(far, question), pod);
      assert.ok(there.heard.some(({ message }) => message === question.message));
      await follows.remove();
      await carries.remove();
    });
  }
});
