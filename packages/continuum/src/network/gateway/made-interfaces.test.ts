import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { fabricOf } from "../fabric/fabric.ts";
import { testState } from "../fabric/test-state.ts";
import { MadeInterfaces } from "./made-interfaces.ts";
import type { NodeNetwork } from "./node-network.ts";

describe("An interface of a link that others may change", () => {
  const fabric = fabricOf({ ...testState(1), siteId: "a" }, { interfacePrefix: "fjord" });
  const [each] = fabric.interfaces as [(typeof fabric.interfaces)[number]];
  let hasIPv6: boolean;
  let shown: { flags: string[]; mtu: number; addr_info: { local: string; deprecated?: boolean }[] };
  let warnings: string[];
  let made: MadeInterfaces;

  beforeEach(async () => {
    [hasIPv6, warnings] = [true, []];
    shown = { flags: [], mtu: 1500, addr_info: [] };
    const ip = async (...args: string[]) => {
      const [, what, , value = ""] = args;
      if (args.includes("show")) return JSON.stringify([shown]);
      if (args.includes("up")) shown = { ...shown, flags: ["UP"], mtu: fabric.mtu };
      if (what !== "address") return "";
      if (!hasIPv6) throw new Error("permission denied");
      shown.addr_info.push({
        local: value.split("/")[0] ?? "",
        ...(args.join(" ").includes("preferred_lft 0") && { deprecated: true }),
      });
      return "";
    };
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const network = { ip } as Partial<NodeNetwork> as NodeNetwork;
    made = new MadeInterfaces({ network, prefix: "fjord", devices: {} as never, logger });
    await made.bringUp(fabric, each);
  });

  it("is as it was brought, or what is not is said", async () => {
    assert.deepEqual(await made.drift(fabric, each), []);
    shown = { flags: [], mtu: 1280, addr_info: [] };
    assert.equal((await made.drift(fabric, each)).length, 3);
  });

  it("has its address on links again once the node has IPv6 again, of which nobody is told twice", async () => {
    [hasIPv6, shown] = [false, { ...shown, addr_info: [] }];
    await made.bringUp(fabric, each);
    assert.deepEqual(await made.drift(fabric, each), []);
    assert.deepEqual(warnings, ["links are not probed on this node"]);
    hasIPv6 = true;
    assert.deepEqual(await made.drift(fabric, each), []);
    assert.deepEqual(shown.addr_info, [{ local: each.linkAddress, deprecated: true }]);
  });
});
