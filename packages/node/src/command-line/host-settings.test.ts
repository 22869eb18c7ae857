import assert from "node:assert/strict";
import { test } from "node:test";
import { machineAddress, parseResolverFile } from "./host-settings.ts";

test("a resolver file gives its servers, the last search line and all options", () => {
  const text =
    "# by hand\nnameserver 10.0.0.1\nsearch a.example\nnameserver ::1 ; two\n\nsearch b.example c.example\noptions ndots:2\noptions rotate";
  assert.deepEqual(parseResolverFile(text), {
    servers: ["10.0.0.1", "::1"],
    searches: ["b.example", "c.example"],
    options: ["ndots:2", "rotate"],
  });
  assert.deepEqual(parseResolverFile(""), { servers: [], searches: [], options: [] });
});

test("a machine is known by an address that others can reach", () => {
  const each = (address: string, family: "IPv4" | "IPv6", internal = false) =>
    ({ address, family, internal, netmask: "", mac: "", cidr: null, scopeid: 0 }) as never;
  const lo = [each("127.0.0.1", "IPv4", true)];
  assert.equal(
    machineAddress({ lo, eth0: [each("fe80::1", "IPv6"), each("fd00::2", "IPv6"), each("10.1.2.3", "IPv4")] }),
    "10.1.2.3",
  );
  assert.equal(machineAddress({ lo, eth0: [each("fe80::1", "IPv6"), each("fd00::2", "IPv6")] }), "fd00::2");
  assert.equal(machineAddress({ lo }), "127.0.0.1");
});
