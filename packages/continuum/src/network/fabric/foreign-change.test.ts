import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FirewallChanges, isAddressLost, isTaken } from "./foreign-change.ts";

describe("What nft tells of changes", () => {
  const processes = (...lines: string[]) => {
    const changes = new FirewallChanges();
    return lines.flatMap((line) => changes.read(line) ?? []);
  };
  const by = (process: number) => `# new generation 12 by process ${process} (nft)`;

  it("names who has changed a table of Fjord's", () => {
    assert.deepEqual(processes("delete chain inet fjord arrive4", "delete table inet fjord", by(7)), [7]);
    assert.deepEqual(processes("insert rule inet fjord arrive4 accept", by(8)), [8]);
    assert.deepEqual(processes("delete element inet fjord member4 { 10.0.0.1 . 7 }", by(9)), [9]);
    assert.deepEqual(processes("add chain inet fjord-way guard { type filter hook input priority 0; }", by(9)), [9]);
  });

  it("is nothing where others change what is theirs, or a sign of life is renewed", () => {
    assert.deepEqual(processes("delete table inet fjordling", by(7), "add table ip nat", by(8)), []);
    assert.deepEqual(processes("add element inet fjord-fence live { 51820 timeout 3s }", by(7)), []);
    assert.deepEqual(processes("add rule ip fjord x accept", by(7)), []);
  });
});

describe("What ip tells of changes", () => {
  const prefix = "fjord";
  it("is known where a route, a rule, an interface or an address of Fjord's goes", () => {
    for (const line of [
      "Deleted 240.0.0.0/16 dev fjord0 table 7443 proto 174 scope link ",
      "Deleted unreachable 240.0.0.0/16 dev lo table 7444 proto 175 metric 4294967295 ",
      "Deleted 7443:\tfrom all lookup 7443 proto 174",
      "Deleted 240.0.0.0/16 dev fjord1 table 7421 proto 174 scope link ",
      "Deleted 7427:\tfrom all fwmark 0x70/0x70 lookup 7427",
      "Deleted 5: fjord0: <POINTOPOINT> mtu 1380 qdisc noop state DOWN group default ",
      "Deleted 5: fjordx: <BROADCAST> mtu 1380 qdisc noop state DOWN group default ",
      "Deleted 5: fjord0    inet6 fd66:6a70::1/32 scope global ",
      "Deleted 5: fjord0    inet6 fd66:6a70::1/32 scope global nodad deprecated ",
      "Deleted 6: fjord1    inet 169.254.74.43/32 scope host fjord1",
    ])
      assert.equal(isTaken(line, prefix), true, line);
    for (const line of [
      "240.0.0.0/16 dev fjord0 table 7443 proto 174 scope link ",
      "Deleted 10.1.0.0/24 via 192.0.2.1 dev eth0 ",
      "Deleted 5: veth0@if3: <BROADCAST> mtu 1500 ",
      "Deleted 2: eth0    inet6 2001:db8::9/64 scope global dynamic ",
      "Deleted 32766:\tfrom all lookup main",
      "Deleted 1: lo    inet 127.0.0.1/8 scope host lo",
    ])
      assert.equal(isTaken(line, prefix), false, line);
  });
});

describe("What ip tells of addresses", () => {
  const isLost = (line: string) => isAddressLost(line, "fjord");

  it("is that the node has lost one", () => {
    assert.ok(isLost("Deleted 2: eth0    inet 192.0.2.9/24 brd 192.0.2.255 scope global eth0"));
    assert.ok(isLost("Deleted 2: eth0    inet6 2001:db8::9/64 scope global dynamic "));
  });

  it("is nothing where it gets one, or one of a pod's, of a link, or of the wire alone goes", () => {
    assert.ok(!isLost("2: eth0    inet 192.0.2.9/24 scope global eth0"));
    assert.ok(!isLost("Deleted 9: veth12ab    inet 10.42.0.1/32 scope global veth12ab"));
    assert.ok(!isLost("Deleted 9: fjord0    inet6 fd66:6a70::1/32 scope global "));
    assert.ok(!isLost("Deleted 2: eth0    inet6 fe80::1/64 scope link "));
  });
});
