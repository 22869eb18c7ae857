import assert from "node:assert/strict";
import { test } from "node:test";
import type { RemoteSite } from "../../remote-site.ts";
import { LoopbackGuests, type LoopbackGuestsOptions } from "./loopback-guests.ts";

const OWN = ["127.88.0.0/16"];

function allows(address: string, more: { ranges?: string[]; endpoints?: string[]; service?: string } = {}): boolean {
  const { ranges = ["127.89.0.0/16"], endpoints = ["https://127.31.0.2:7443"], service = "127.96.0.1" } = more;
  const remote = { report: { published: { loopbackRanges: ranges } } } as unknown as RemoteSite;
  const sites: LoopbackGuestsOptions["sites"] = { get: () => remote };
  return new LoopbackGuests({ service, sites, endpointsOf: () => endpoints, ownRanges: () => OWN }).allows(
    "x",
    address,
  );
}

test("a guest of a site on this machine has an address of that site's", () => {
  assert.equal(allows("127.89.0.1"), true);
  assert.equal(allows("127.89.255.254"), true);
  assert.equal(allows("127.89.3.4", { ranges: ["127.90.0.0/16", "127.89.3.0/24"] }), true);
});

test("no guest is on loopback where the own Services are elsewhere", () => {
  for (const service of ["10.96.0.1", "", "fd00::1", "None"]) assert.equal(allows("127.89.0.1", { service }), false);
});

test("no guest of a site elsewhere is on this machine", () => {
  const elsewhere = [
    [],
    ["https://192.0.2.7:7443"],
    ["https://wave.example:7443"],
    ["https://127.31.0.2:7443", "https://192.0.2.7:7443"],
    ["https://127.wave.example:7443"],
    ["nothing"],
  ];
  for (const endpoints of elsewhere) assert.equal(allows("127.89.0.1", { endpoints }), false, endpoints.join());
});

test("a site stands for its own addresses only, whatever it announces", () => {
  const all = ["127.0.0.0/8", "127.0.0.0/9", "127.0.0.0/16", "127.88.0.0/16", "127.89.0.0/16", "127.96.0.0/16"];
  for (const address of ["127.0.0.1", "127.0.0.53", "127.88.0.1", "127.96.0.1", "127.96.200.7", "127.90.0.1"])
    assert.equal(allows(address, { ranges: all }), false, address);
  assert.equal(allows("127.90.0.1"), false);
  for (const ranges of [[], ["127.89.0.0"], ["127.89.0.0/33"], ["127.89.0.0/-1"], ["127.89.0.0/16x"], ["0.0.0.0/16"]])
    assert.equal(allows("127.89.0.1", { ranges }), false, ranges.join());
  for (const odd of ["127.89.0.256", "127.89.1", "::ffff:127.89.0.1", "127.89.0.1 ", "10.89.0.1", ""])
    assert.equal(allows(odd), false, odd);
});
