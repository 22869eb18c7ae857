import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { NetworkNamespaces, namespaceUdp } from "@fjord/testbed/namespaces";
import { networkSkip } from "@fjord/testbed/testing";
import { fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import { PROBE_PORT } from "../link-address.ts";
import { MadeInterfaces } from "./made-interfaces.ts";
import { NodeNetwork } from "./node-network.ts";

const NODE = "2001:db8::5";
const POD = "fd42::9";

describe("An interface of a link in a kernel", { skip: networkSkip() }, () => {
  const namespaces = new NetworkNamespaces();
  const fabric = fabricOf({ ...testState(1), siteId: "a" }, { interfacePrefix: "fjord" });
  const [each] = fabric.interfaces as [(typeof fabric.interfaces)[number]];
  const own = each.linkAddress ?? "";
  let made: MadeInterfaces;

  before(async () => {
    await namespaces.add("node");
    await namespaces.add("pod");
    await namespaces.cable("node", each.name, "pod", "fjord0");
    await namespaces.cable("node", "eth0", "pod", "eth1");
    // As of networks that give a pod's interface no address at the node's end.
    await namespaces.cable("node", "pod0", "pod", "eth0");
    await namespaces.ip("node", "address", "add", `${NODE}/64`, "dev", "eth0");
    await namespaces.ip("node", "-6", "route", "add", `${POD}/128`, "dev", "pod0");
    const network = new NodeNetwork({ prefix: namespaces.prefix("node") });
    made = new MadeInterfaces({ network, prefix: "fjord", devices: {} as never, logger: silentLogger });
  });
  after(() => namespaces[Symbol.asyncDispose]());

  const ip = (...args: string[]) => namespaces.ip("node", ...args);
  const sourceToPod = async () => {
    const [route] = JSON.parse(await ip("-json", "-6", "route", "get", POD)) as [{ prefsrc?: string }];
    return route.prefsrc;
  };

  it("has an address on links that the node's own connections do not take, whatever an older gateway has made", async () => {
    await ip("link", "set", "dev", each.name, "mtu", String(fabric.mtu), "up");
    await ip("-6", "address", "add", `${own}/32`, "dev", each.name, "nodad");
    assert.equal(await sourceToPod(), own, "of two, the kernel takes the one that looks more like a pod's");
    await made.bringUp(fabric, each);
    assert.equal(await sourceToPod(), NODE);
    assert.deepEqual(await made.drift(fabric, each), []);
  });

  it("has it for gateways, who ask for it", async () => {
    const heard: string[] = [];
    const [gateway, other] = await Promise.all([
      namespaceUdp(namespaces, "node", { address: own, port: PROBE_PORT }, () => {}),
      namespaceUdp(namespaces, "node", { address: NODE, port: PROBE_PORT }, (_, from) => void heard.push(from)),
    ]);
    while (heard.length === 0) {
      gateway.send(Buffer.from("hello"), NODE);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(heard[0], own);
    gateway.close();
    other.close();
  });

  it("is put back where somebody has the node's connections take it", async () => {
    await ip("-6", "address", "change", `${own}/32`, "dev", each.name, "preferred_lft", "forever");
    assert.equal((await made.drift(fabric, each)).length, 1);
    await made.bringUp(fabric, each);
    assert.deepEqual(await made.drift(fabric, each), []);
  });

  it("has what lanes need put back: without an address the kernel takes nothing that comes by another one", async () => {
    const laned = { ...fabric, lanes: 2 };
    await made.bringUp(laned, each);
    assert.deepEqual(await made.drift(laned, each), []);
    await ip("-4", "address", "delete", "169.254.74.43/32", "dev", each.name);
    assert.equal((await made.drift(laned, each)).length, 1);
    await made.bringUp(laned, each);
    assert.deepEqual(await made.drift(laned, each), []);
  });
});
