import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addressOption,
  endpointOption,
  homeApiOption,
  labelOption,
  leaseOption,
  listenOption,
  nameOption,
  portOption,
  serviceOption,
} from "./option-values.ts";

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

test("leases", () => {
  assert.equal(leaseOption("--l", "15s"), 15_000);
  for (const wrong of ["15", "2s", "0s", "-3s", "1m", "1.5s", ""])
    assert.throws(() => leaseOption("--l", wrong), /--l cannot be .*three seconds or more/);
});

test("services and labels", () => {
  assert.deepEqual(serviceOption("--s", "fjord-agent"), { name: "fjord-agent", port: 443 });
  assert.deepEqual(serviceOption("--s", "fjord-agent:7444"), { name: "fjord-agent", port: 7444 });
  for (const wrong of ["", "A:1", "a:b", "a:1:2"]) assert.throws(() => serviceOption("--s", wrong), /--s cannot be/);
  const level = "pod-security.kubernetes.io/enforce";
  assert.deepEqual(labelOption("--l", `${level}=baseline`), [level, "baseline"]);
  assert.deepEqual(labelOption("--l", "team="), ["team", ""]);
  for (const wrong of ["team", "=a", "a=-b", "a/b/c=d"]) assert.throws(() => labelOption("--l", wrong), /a label/);
});

test("endpoints are https and carry no credentials", () => {
  assert.equal(endpointOption("--e", "https://wave.example:7443/"), "https://wave.example:7443");
  for (const wrong of ["http://a", "a:1", "https://u:p@a", ""])
    assert.throws(() => endpointOption("--e", wrong), /URL/);
});

test("the own API has a host and a port", () => {
  assert.deepEqual(homeApiOption("--h", "api.wave.example:6443"), { host: "api.wave.example", port: "6443" });
  assert.deepEqual(homeApiOption("--h", "[2001:db8::1]:6443"), { host: "2001:db8::1", port: "6443" });
  for (const wrong of ["", ":6443", "a", "a:0", "https://a:1"])
    assert.throws(() => homeApiOption("--h", wrong), /HOST:PORT/);
});
