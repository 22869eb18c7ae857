import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOption, endpointOption, listenOption, nameOption, portOption } from "./option-values.ts";

test("where to listen", () => {
  assert.deepEqual(listenOption("--listen", "0.0.0.0:7443"), { host: "0.0.0.0", port: 7443 });
  assert.deepEqual(listenOption("--listen", "[::1]:1"), { host: "::1", port: 1 });
  assert.deepEqual(listenOption("--listen", ":7443"), { host: "", port: 7443 });
  for (const wrong of ["7443", "host", "host:", "host:99999", "::1:7443", ""])
    assert.throws(() => listenOption("--listen", wrong), /--listen cannot be .*HOST:PORT/);
});

test("ports, addresses, names", () => {
  assert.equal(portOption("--p", "0"), 0);
  assert.throws(() => portOption("--p", "-1"), /a port/);
  assert.equal(addressOption("--a", "::1"), "::1");
  assert.throws(() => addressOption("--a", "localhost"), /an IP address/);
  assert.equal(nameOption("--n", "lively-wave"), "lively-wave");
  for (const wrong of ["Lively", "-a", "a-", "a".repeat(64), ""]) assert.throws(() => nameOption("--n", wrong), /name/);
});

test("endpoints are https and carry no credentials", () => {
  assert.equal(endpointOption("--e", "https://wave.example:7443/"), "https://wave.example:7443");
  for (const wrong of ["http://a", "a:1", "https://u:p@a", ""])
    assert.throws(() => endpointOption("--e", wrong), /URL/);
});
