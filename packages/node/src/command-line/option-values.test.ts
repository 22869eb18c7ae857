import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addressesOption,
  certificatesOption,
  cgroupOption,
  countOption,
  domainOption,
  endpointOption,
  labelsOption,
  nodeNameOption,
  resourcesOption,
  serverOption,
  taintsOption,
  tokenOption,
} from "./option-values.ts";

test("options of several values are read, given once or several times", () => {
  assert.deepEqual(labelsOption("--label", ["a=1,fjord.dev/zone=north", "empty="]), {
    a: "1",
    "fjord.dev/zone": "north",
    empty: "",
  });
  assert.deepEqual(taintsOption(["edge=true:NoSchedule", "gpu:NoExecute"]), [
    { key: "edge", value: "true", effect: "NoSchedule" },
    { key: "gpu", effect: "NoExecute" },
  ]);
  assert.deepEqual(resourcesOption("--capacity", ["cpu=1500m,memory=1Ki"]), {
    cpu: "1500m",
    memory: "1Ki",
  });
  assert.deepEqual(addressesOption("--node-ip", ["10.0.0.1,fd00::1"]), ["10.0.0.1", "fd00::1"]);
  assert.equal(countOption("--port", "10250", 1, 65535), 10250);
  assert.equal(serverOption("--server", "https://10.0.0.1:6443"), "https://10.0.0.1:6443");
  assert.equal(tokenOption("--bootstrap-token", "abcdef.0123456789abcdef"), "abcdef.0123456789abcdef");
  assert.equal(domainOption("--cluster-domain", "cluster.local."), "cluster.local.");
  assert.equal(cgroupOption("--cgroup-root", "/edge/pods"), "/edge/pods");
  assert.equal(nodeNameOption("--node-name", "Edge-1.Local"), "edge-1.local");
});

const broken = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";

test("a wrong value is refused with the option, the value and the reason", () => {
  const refusals: [() => unknown, RegExp][] = [
    [() => labelsOption("--label", ["a"]), /--label a: a label is written NAME=VALUE/],
    [() => labelsOption("--label", ["=1"]), /--label =1: nothing is not the name of a label/],
    [() => labelsOption("--label", ["a=b=c"]), /its value is not one of a label/],
    [() => labelsOption("--label", ["a=b c"]), /its value is not one of a label/],
    [() => taintsOption(["edge"]), /cannot use the taint edge: it is not of the form key=value:effect/],
    [() => taintsOption(["edge:Never"]), /cannot use the taint edge:Never/],
    [() => resourcesOption("--capacity", ["cpu"]), /--capacity cpu: "" is not a quantity/],
    [() => resourcesOption("--capacity", ["cpu=-1"]), /not negative/],
    [() => resourcesOption("--capacity", ["cpu=many"]), /"many" is not a quantity/],
    [() => addressesOption("--node-ip", ["10.0.0.256"]), /--node-ip 10.0.0.256: is not an IP address/],
    [() => countOption("--port", "x", 1, 10), /--port x: is not a number from 1 to 10/],
    [() => countOption("--port", "11", 1, 10), /from 1 to 10/],
    [() => serverOption("--server", "10.0.0.1:6443"), /--server 10.0.0.1:6443: write https:\/\/HOST:PORT/],
    [() => serverOption("--server", "http://10.0.0.1"), /write https:/],
    [() => tokenOption("--bootstrap-token", "abcdef.0123"), /--bootstrap-token …: a bootstrap token is six letters/],
    [() => certificatesOption("--ca", "ca.crt", "root:x:0:0"), /--ca ca.crt: there is no PEM certificate in it/],
    [() => certificatesOption("--ca", "ca.crt", broken), /a certificate in it cannot be read/],
    [() => domainOption("--cluster-domain", "a b/../c"), /is not a domain name/],
    [() => domainOption("--cluster-domain", "a\nnameserver 6.6.6.6"), /is not a domain name/],
    [() => cgroupOption("--cgroup-root", "../../x"), /is not the path of a control group/],
    [() => nodeNameOption("--node-name", "a b"), /the name of a node/],
  ];
  for (const [refused, words] of refusals) assert.throws(refused, { message: words });
});

test("an address may come with a port", () => {
  assert.deepEqual(endpointOption("--serve-dns", "127.96.0.10", 53), { address: "127.96.0.10", port: 53 });
  assert.deepEqual(endpointOption("--serve-dns", "127.96.0.10:5353", 53), { address: "127.96.0.10", port: 5353 });
  assert.deepEqual(endpointOption("--serve-dns", "[fd00::1]:5353", 53), { address: "fd00::1", port: 5353 });
  assert.deepEqual(endpointOption("--serve-dns", "fd00::1", 53), { address: "fd00::1", port: 53 });
  for (const wrong of ["", "dns", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", ":53"]) {
    assert.throws(() => endpointOption("--serve-dns", wrong, 53), /--serve-dns/);
  }
});
