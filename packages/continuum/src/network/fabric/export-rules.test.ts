import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExportedAddress } from "../network-state.ts";
import { exportRules } from "./export-rules.ts";
import { fabricOf } from "./fabric.ts";
import { firewallChange } from "./firewall-change.ts";
import { testState } from "./test-state.ts";

const exported = (change: Partial<ExportedAddress> = {}): ExportedAddress => ({
  address: "252.0.0.7",
  masquerade: true,
  ports: [{ protocol: "TCP", port: 5432, backends: [{ address: "192.168.7.20", port: 5433 }] }],
  ...change,
});
const portOf = (change: object) => [{ ...exported().ports[0], ...change }] as ExportedAddress["ports"];

describe("where exports lead", () => {
  it("is a chain for each, which has its ports alone", () => {
    const { chains, elements } = exportRules([exported()]);
    assert.deepEqual([...chains], [["export4-7", ["tcp dport 5432 dnat ip to 192.168.7.20:5433"]]]);
    assert.deepEqual([...(elements.get("exports4") ?? [])], [["252.0.0.7", ": jump export4-7"]]);
    assert.deepEqual([...(elements.get("masked4") ?? [])], [["252.0.0.7", ""]]);
    assert.equal(exportRules([exported({ masquerade: false })]).elements.has("masked4"), false);
  });

  it("is one of several by chance, and of IPv6 in brackets", () => {
    const two = ["10.42.0.7", "10.42.0.8"].map((address) => ({ address, port: 80 }));
    assert.deepEqual(exportRules([exported({ ports: portOf({ backends: two }) })]).chains.get("export4-7"), [
      "tcp dport 5432 dnat ip to numgen random mod 2 map { 0 : 10.42.0.7 . 80, 1 : 10.42.0.8 . 80 }",
    ]);
    const six = exported({
      address: "fd66:6a71::9",
      ports: portOf({ protocol: "UDP", backends: [{ address: "fd00::1", port: 53 }] }),
    });
    assert.deepEqual(exportRules([six]).chains.get("export6-9"), ["udp dport 5432 dnat ip6 to [fd00::1]:53"]);
  });

  const wrong: Readonly<Record<string, Partial<ExportedAddress>>> = {
    "an address of pods": { address: "10.42.0.7" },
    "no address": { address: "252.0.0.7; flush ruleset" },
    "a port that is none": { ports: portOf({ port: 70_000 }) },
    "another protocol": { ports: portOf({ protocol: "ICMP" }) },
    "a host of another family": { ports: portOf({ backends: [{ address: "fd00::1", port: 1 }] }) },
    "rules in the place of a host": { ports: portOf({ backends: [{ address: "1.1.1.1 accept", port: 1 }] }) },
    "nobody behind it": { ports: portOf({ backends: [] }) },
  };
  for (const [what, change] of Object.entries(wrong))
    it(`is nowhere where it has ${what}`, () => assert.equal(exportRules([exported(change)]).chains.size, 0));

  it("changes by what has changed, once there are any", () => {
    const options = { interfacePrefix: "fjord" };
    const before = fabricOf({ ...testState(2), exports: [exported()] }, options);
    const more = exported({ address: "252.0.0.8", masquerade: false });
    const after = fabricOf({ ...testState(2), exports: [exported(), more] }, options, before);
    assert.equal(
      firewallChange(before, after),
      [
        "add chain inet fjord export4-8",
        "add rule inet fjord export4-8 tcp dport 5432 dnat ip to 192.168.7.20:5433",
        "add element inet fjord exports4 { 252.0.0.8 : jump export4-8 }",
        "",
      ].join("\n"),
    );
    assert.match(firewallChange(after, fabricOf(testState(2), options, after)), /^table inet fjord\ndelete table/);
  });
});
