import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { Underlay } from "./underlay.ts";

describe("what a node knows of the way to an endpoint", () => {
  const routes: Record<string, object> = {
    "192.0.2.2": { dst: "192.0.2.2", dev: "eth0", flags: [] },
    "198.51.100.3": { dst: "198.51.100.3", gateway: "192.0.2.7", dev: "eth0", metrics: [{ mtu: 1300 }] },
    "2001:db8::1": { dst: "2001:db8::1", dev: "eth0" },
  };
  const asked: string[] = [];
  const clock = new ManualClock(0);
  const network = {
    ip: async (...args: string[]) => {
      const last = args.at(-1) ?? "";
      asked.push(last);
      if (last === "eth0") return JSON.stringify([{ ifname: "eth0", mtu: 1400 }]);
      if (routes[last] === undefined) throw new Error("Network is unreachable");
      return JSON.stringify([routes[last]]);
    },
  };
  const underlay = new Underlay(network, clock);

  it("is what its interface takes, or what a router has told, without what WireGuard adds", async () => {
    assert.equal(await underlay.largestTo("192.0.2.2:51820"), 1340);
    assert.equal(await underlay.largestTo("198.51.100.3:51820"), 1240);
    assert.equal(await underlay.largestTo("[2001:db8::1]:51820"), 1320);
  });

  it("is nothing where there is no way, or no address", async () => {
    assert.equal(await underlay.largestTo("203.0.113.9:51820"), undefined);
    assert.equal(await underlay.largestTo("wave.example:51820"), undefined);
  });

  it("is asked for again after a while, and not before", async () => {
    asked.splice(0);
    await underlay.largestTo("198.51.100.3:51820");
    assert.deepEqual(asked, []);
    await clock.advance(30_000);
    underlay.turn();
    routes["198.51.100.3"] = { dst: "198.51.100.3", dev: "eth0" };
    assert.equal(await underlay.largestTo("198.51.100.3:51820"), 1340);
  });

  it("is asked for some at a time", async () => {
    underlay.turn();
    asked.splice(0);
    const many = Array.from({ length: 40 }, (_, index) => `203.0.113.${index + 10}:1`);
    for (const each of many) await underlay.largestTo(each);
    assert.equal(asked.length, 16);
    for (const each of many) await underlay.largestTo(each);
    assert.equal(asked.length, 16);
    underlay.turn();
    for (const each of many) await underlay.largestTo(each);
    assert.equal(asked.length, 32);
  });
});
