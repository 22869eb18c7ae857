import assert from "node:assert/strict";
import { test } from "node:test";
import { advertisedAddress, type HostNetwork } from "./advertised-address.ts";

const interfaces = {
  lo: [{ address: "127.0.0.1", family: "IPv4", internal: true }],
  docker0: [{ address: "172.17.0.1", family: "IPv4", internal: false }],
  eth0: [
    { address: "192.0.2.7", family: "IPv4", internal: false },
    { address: "fe80::1", family: "IPv6", internal: false },
    { address: "2001:db8::7", family: "IPv6", internal: false },
  ],
};
const routes = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000
`;
const chosen = (host: string, onLoopback = false, network: HostNetwork = { interfaces, routes }) =>
  advertisedAddress(host, onLoopback, () => network);

test("where it listens is told, where others can reach that", () => {
  assert.equal(chosen("10.1.2.3"), "10.1.2.3");
  assert.equal(chosen("2001:db8::9"), "2001:db8::9");
});

test("of all addresses, and of none but this machine's, the interface with the default route has the one", () => {
  for (const host of ["0.0.0.0", "127.0.0.1", "localhost", "api.example"]) assert.equal(chosen(host), "192.0.2.7");
  assert.equal(chosen("::"), "2001:db8::7");
  assert.equal(chosen("0.0.0.0", false, { interfaces, routes: "" }), "172.17.0.1");
});

test("a cluster on loopback stays there, and without any interface there is none", () => {
  assert.equal(chosen("127.0.0.1", true), "127.0.0.1");
  assert.equal(chosen("127.0.0.1", false, { interfaces: { lo: interfaces.lo }, routes: "" }), undefined);
});
