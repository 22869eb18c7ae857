import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Link, newObject, Site } from "@fjord/api";
import { networkListing, networkTable } from "./network.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const now = Date.parse("2030-01-01T00:00:30Z");
const at = "2030-01-01T00:00:00Z";
const ready = (reason: string, message = "") =>
  ({ type: "Ready", status: "True", reason, message, lastTransitionTime: at }) as never;
const site = { ...newObject(Site, { metadata: { name: "wave" } }), status: { id } };
const plan: AddressPlan = {
  ...newObject(AddressPlan, {
    metadata: { name: id },
    spec: {
      site: id,
      own: [{ range: "10.42.0.0/16", called: "240.3.0.0/16" }],
      peer: [
        { range: "10.42.0.0/16", called: "240.0.0.0/16" },
        { range: "10.44.0.0/16", called: "10.44.0.0/16" },
      ],
    },
  }),
  status: { conditions: [ready("NamesKnown")] },
};
const link: Link = {
  ...newObject(Link, {
    metadata: { name: id },
    spec: {
      site: id,
      publicKey: `${"Ab+/".repeat(10)}Abc=`,
      endpoints: [],
      groups: [{ name: "shop", local: [], remote: [] }],
    },
  }),
  status: {
    handshakeAt: at,
    receivedBytes: 7,
    sentBytes: 1_500_000,
    receivedPerSecond: 12,
    sentPerSecond: 2_000_000,
    latencyMicroseconds: 12_345,
    lossPercent: 5,
    mtu: 1380,
    carrier: "Userspace",
    conditions: [ready("HandshakeSeen")],
  },
};
const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));

describe("fjord network status", () => {
  it("tells how to have a link where there is none", () => {
    assert.match(networkTable([[site], [], []], false, now), /fjord peer SITE --link/);
  });

  it("tells where the agents carry connections, and where the peer is away", () => {
    const proxied = { ...plan, spec: { ...plan.spec, carrier: "Proxy" as const } };
    const seen = (reason: string, status: "True" | "False") =>
      lines(
        networkTable(
          [
            [{ ...site, status: { id, conditions: [{ ...(ready(reason) as object), status } as never] } }],
            [proxied],
            [],
          ],
          true,
          now,
        ),
      )[1];
    assert.deepEqual([seen("Reachable", "True")?.[4], seen("Unreachable", "False")?.[4]], ["Proxied", "Unreachable"]);
    assert.deepEqual(seen("Reachable", "True")?.slice(5).join(" "), "- - - - - - - 0 - - Proxy - -");
  });

  it("has a line for each range, by the names of sites", () => {
    const [, first, second] = lines(networkTable([[site], [plan], [link]], false, now));
    const ranges = ["10.42.0.0/16 as 240.0.0.0/16", "10.42.0.0/16 as 240.3.0.0/16"];
    assert.deepEqual(first, [
      "wave",
      ...ranges,
      "NamesKnown",
      "HandshakeSeen",
      "30s",
      "12.3ms",
      "5%",
      "12B/s",
      "1.9MiB/s",
      "1380",
      "direct",
      "1",
    ]);
    assert.deepEqual(second, ["10.44.0.0/16"]);
  });

  it("has more to tell where it is wide", () => {
    const [headers = [], first = []] = lines(networkTable([[site], [plan], [link]], true, now));
    const told = (header: string) => first[headers.indexOf(header)];
    const wanted = { ENDPOINT: "<none>", LANES: "1", CARRIER: "Userspace", RECEIVED: "7B", SENT: "1.4MiB" };
    assert.deepEqual(Object.keys(wanted).map(told), Object.values(wanted));
  });

  it("tells by whom a peer is heard of that is not met, and no address of the inside", () => {
    const hub = { ...newObject(Site, { metadata: { name: "bay" } }), status: { id: "b".repeat(26) } };
    const shown = (status: object, spec: object = {}) => {
      const inside = { ...link.status, endpoint: "250.251.250.45:51820", ...status };
      const led = { ...link, spec: { ...link.spec, ...spec }, status: inside } as Link;
      const [headers = [], first = []] = lines(networkTable([[site, hub], [plan], [led]], true, now));
      return [first[headers.indexOf("PATH")], first[headers.indexOf("ENDPOINT")]];
    };
    assert.deepEqual(shown({ via: "b".repeat(26) }), ["via bay", "via bay"]);
    assert.deepEqual(shown({}, { via: "b".repeat(26) }), ["via bay", "via bay"]);
    assert.deepEqual(shown({ way: "TCP" }), ["over TCP", "over TCP"]);
    assert.deepEqual(shown({ way: "Direct" }), ["direct", "250.251.250.45:51820"]);
  });

  it("tells on how many lanes the peer answers, where there are several", () => {
    const shown = (status: object[]) => {
      const laned = {
        ...link,
        spec: { ...link.spec, lanes: [{ endpoints: [] }, { endpoints: [] }] },
        status: { ...link.status, lanes: status },
      } as Link;
      const [headers = [], first = []] = lines(networkTable([[site], [plan], [laned]], true, now));
      return first[headers.indexOf("LANES")];
    };
    assert.equal(shown([]), "3/3");
    assert.equal(shown([{ lane: 0 }, { lane: 1, silent: true }, { lane: 7, silent: true }]), "2/3");
    const carried = [
      { lane: 1, node: "two" },
      { lane: 0, node: "one" },
    ];
    assert.equal(shown(carried), "3/3 on one,two,?", "by the nodes that carry them");
  });

  it("does not claim to have measured what nobody has", () => {
    const { conditions } = link.status ?? {};
    const unknown = { ...link, status: { conditions } } as Link;
    const [, first] = lines(networkTable([[site], [plan], [unknown]], false, now));
    assert.deepEqual(first?.slice(5), [...Array(5).fill("<unknown>"), "<none>", "<unknown>", "1"]);
  });

  it("is in the order of the sites' names, of some alone where these are named, and tells of one that has no link", () => {
    const others = [
      { ...newObject(Site, { metadata: { name: "wood" } }), status: { id: "a".repeat(26) } },
      { ...newObject(Site, { metadata: { name: "bay" } }), status: { id: "b".repeat(26) } },
    ];
    const of = (each: string) => ({ ...plan, spec: { ...plan.spec, site: each } });
    const all: [Site[], AddressPlan[], Link[]] = [
      [...others, site],
      [of("a".repeat(26)), of("b".repeat(26)), plan],
      [link],
    ];
    const shown = (...names: string[]) => networkListing(names).chosen?.(all) as typeof all;
    const ids = (plans: readonly AddressPlan[]) => plans.map(({ spec }) => spec.site);
    assert.deepEqual(ids(shown()[1]), ["b".repeat(26), id, "a".repeat(26)]);
    assert.deepEqual([ids(shown("wave")[1]), shown("wave")[2].length], [[id], 1]);
    assert.deepEqual(shown("bay")[2], []);
    assert.throws(() => shown("wav"), /there is no link with a site wav here \(did you mean wave\?\)/);
  });

  it("names what it shows: of the sites those with a link, or the one that is named", () => {
    const bay = { ...newObject(Site, { metadata: { name: "bay" } }), status: { id: "b".repeat(26) } };
    const other = { ...plan, metadata: { name: "b".repeat(26) }, spec: { ...plan.spec, site: "b".repeat(26) } };
    const own = newObject(Site, { metadata: { name: "harbor" } });
    const all: [Site[], AddressPlan[], Link[]] = [[own, bay, site], [other, plan], [link]];
    const named = (...names: string[]) => {
      const { chosen, named: of } = networkListing(names);
      return of?.(chosen?.(all) ?? all).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    };
    assert.deepEqual(named("wave"), ["Site/wave", `AddressPlan/${id}`, `Link/${id}`]);
    assert.deepEqual(named("bay"), ["Site/bay", `AddressPlan/${"b".repeat(26)}`]);
    assert.equal(named()?.length, 5);
  });

  it("shows through whom a peer is met", () => {
    const through = { ...link, status: { ...link.status, via: id } } as Link;
    const [headers = [], first = []] = lines(networkTable([[site], [plan], [through]], false, now));
    assert.equal(first[headers.indexOf("PATH")], "via wave");
  });

  it("says where the own Site is why there are none", () => {
    const self = { ...newObject(Site, { metadata: { name: "harbor" } }), status: { id, role: "Self" as const } };
    assert.match(networkTable([[self], [], []], false, now), /Site harbor has no spec\.network.*kubectl patch site/);
    const ready = { ...self, spec: { ...self.spec, network: {} } } as Site;
    assert.match(networkTable([[ready], [], []], false, now), /`fjord peer SITE --link` asks for one/);
  });

  it("shows what is not there yet", () => {
    const waiting = { ...plan, spec: { site: id, own: [{ range: "10.42.0.0/16" }], peer: [] } };
    waiting.status = { conditions: [ready("AwaitingPeer", "the peer has not told its ranges")] };
    const [, first] = lines(networkTable([[], [waiting], []], false, now));
    assert.deepEqual(first?.slice(0, 3), [id, "10.42.0.0/16 as ?", "AwaitingPeer"]);
    assert.match(first?.join(" ") ?? "", /<none>.*the peer has not told its ranges/);
  });
});
