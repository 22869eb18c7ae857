import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fabricOf } from "./fabric.ts";
import {
  backstop,
  HEIR_ROUTES,
  LINK_ROUTES,
  ledRanges,
  parseRoutes,
  routeChange,
  routesOf,
  rulesOf,
} from "./route-change.ts";
import { testState } from "./test-state.ts";

const options = { interfacePrefix: "fjord" };

describe("Routes into links", () => {
  it("lead each peer's ranges to the interface, by family", () => {
    const routes = new Map([...routesOf(fabricOf(testState(1), options)), ["fd66::/64", "dev fjord0"]]);
    assert.deepEqual(routeChange(LINK_ROUTES, new Map(), routes), {
      4: [
        "route replace 240.0.0.0/16 table 7443 protocol 174 dev fjord0",
        "route replace unreachable 240.0.0.0/16 metric 4294967295 table 7443 protocol 174",
      ],
      6: ["route replace fd66::/64 table 7443 protocol 174 dev fjord0"],
    });
  });

  it("lead each lane to an interface of its own, by a table of its own, and end in one place", () => {
    const routes = routesOf(fabricOf({ ...testState(1), parallel: 2 }, options));
    assert.deepEqual(routeChange(LINK_ROUTES, new Map(), routes)[4], [
      "route replace 240.0.0.0/16 table 7443 protocol 174 dev fjord0",
      "route replace unreachable 240.0.0.0/16 metric 4294967295 table 7443 protocol 174",
      "route replace 240.0.0.0/16 table 7421 protocol 174 dev fjord1",
    ]);
    assert.equal(routeChange(LINK_ROUTES, routes, new Map())[4].at(-1), "route delete 240.0.0.0/16 table 7421");
    assert.deepEqual(rulesOf(LINK_ROUTES, 3), [
      { table: 7443 },
      { table: 7421, mark: "0x10/0x70" },
      { table: 7422, mark: "0x20/0x70" },
    ]);
    assert.deepEqual(rulesOf(HEIR_ROUTES, 1), [{ table: 7419, mark: "0x8/0x8" }]);
  });

  it("lead only the lanes that are here, and only to peers that have them", () => {
    const state = testState(2, (peer) =>
      peer.siteId === "peer1" ? { ...peer, link: { ...peer.link, lanes: [] } } : peer,
    );
    const of = (carried: number[]) => [...routesOf(fabricOf({ ...state, parallel: 2, carried }, options)).keys()];
    assert.deepEqual(of([1]), ["240.0.0.0/16 table 7421"]);
    assert.deepEqual(
      of([0]).filter((key) => !key.startsWith("unreachable")),
      ["240.0.0.0/16", "240.1.0.0/16"],
    );
    assert.deepEqual(of([]), []);
  });

  it("lead ranges somewhere, whichever lanes they have, and nowhere where they end", () => {
    const routes = routesOf(fabricOf({ ...testState(1), parallel: 2 }, options));
    assert.deepEqual(ledRanges(routes), ["240.0.0.0/16"]);
    assert.deepEqual(ledRanges(new Map([[backstop("240.1.0.0/16"), ""]])), []);
  });

  it("say how large a packet a peer gets, where that is less than the interface takes", () => {
    const routes = routesOf(
      fabricOf(
        testState(1, (peer) => ({ ...peer, mtu: 1300 })),
        options,
      ),
    );
    assert.equal(routes.get("240.0.0.0/16"), "mtu lock 1300 dev fjord0");
    const json = [
      { dst: "240.0.0.0/16", dev: "fjord0", table: "7443", flags: [], metrics: [{ mtu: 1300 }] },
      { type: "unreachable", dst: "240.0.0.0/16", table: "7443", metric: 4294967295, flags: [] },
    ];
    assert.deepEqual(parseRoutes(LINK_ROUTES, JSON.stringify(json)), routes);
    for (const mtu of [1380, 9000]) {
      const whole = routesOf(
        fabricOf(
          testState(1, (peer) => ({ ...peer, mtu })),
          options,
        ),
      );
      assert.equal(whole.get("240.0.0.0/16"), "dev fjord0");
    }
  });

  it("say that twice wrapped packets are smaller, by what gets to the hub", () => {
    const behind = (hub: object) => {
      const state = testState(2, (peer) =>
        peer.siteId === "peer0" ? { ...peer, ...hub } : { ...peer, link: { ...peer.link, via: "peer0" } },
      );
      return [...routesOf(fabricOf({ ...state, siteId: "own" }, options)).values()].filter((way) => way !== "");
    };
    assert.deepEqual(behind({}), ["dev fjord0", "mtu lock 1312 dev fjord0"]);
    assert.deepEqual(behind({ mtu: 1300 }), ["mtu lock 1300 dev fjord0", "mtu lock 1232 dev fjord0"]);
  });

  it("end in one that says that nobody is there, which is put back and taken away as others are", () => {
    const routes = routesOf(fabricOf(testState(1), options));
    const without = new Map([...routes].filter(([range]) => range !== backstop("240.0.0.0/16")));
    assert.deepEqual(routeChange(LINK_ROUTES, without, routes)[4], [
      "route replace unreachable 240.0.0.0/16 metric 4294967295 table 7443 protocol 174",
    ]);
    assert.deepEqual(routeChange(LINK_ROUTES, routes, new Map())[4], [
      "route delete 240.0.0.0/16 table 7443",
      "route delete unreachable 240.0.0.0/16 metric 4294967295 table 7443",
    ]);
  });

  it("change only where they have changed", () => {
    const before = new Map([
      ["240.0.0.0/16", "dev fjord0"],
      ["240.1.0.0/16", "dev fjord0"],
    ]);
    const after = new Map([
      ["240.0.0.0/16", "dev fjord0"],
      ["240.2.0.0/16", "dev fjord0"],
    ]);
    assert.deepEqual(routeChange(LINK_ROUTES, before, after)[4], [
      "route delete 240.1.0.0/16 table 7443",
      "route replace 240.2.0.0/16 table 7443 protocol 174 dev fjord0",
    ]);
  });

  it("are read from what ip prints, without those of other tables", () => {
    const json = JSON.stringify([
      { dst: "240.0.0.0/16", dev: "fjord0", table: "7443", flags: [] },
      { dst: "240.0.0.0/16", dev: "fjord1", table: "7421", flags: [] },
      { dst: "240.0.0.0/16", dev: "fjord1", table: "7431", flags: [] },
      { dst: "10.0.0.0/8", dev: "eth0", table: "main" },
    ]);
    assert.deepEqual(
      [...parseRoutes(LINK_ROUTES, json)],
      [
        ["240.0.0.0/16", "dev fjord0"],
        ["240.0.0.0/16 table 7421", "dev fjord1"],
      ],
    );
    assert.deepEqual([...parseRoutes(LINK_ROUTES, "")], []);
  });

  it("are read with routers and tunnels on them, whose end ip calls as it calls the range", () => {
    const json = `[{"dst":"240.0.0.0/16","gateway":"192.0.2.7","dev":"eth0","table":"7443","flags":[]},
      {"dst":"240.1.0.0/16","encap":"ip","id":7443,"src":"0.0.0.0","dst":"192.0.2.7","ttl":0,"dev":"fjordx","table":"7443"}]`;
    assert.deepEqual(
      [...parseRoutes(LINK_ROUTES, json)],
      [
        ["240.0.0.0/16", "via 192.0.2.7 dev eth0"],
        ["240.1.0.0/16", "encap ip id 7443 dst 192.0.2.7 dev fjordx"],
      ],
    );
  });
});
