import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clusterDomains, namedHost } from "./cluster-names.ts";

const service = (name: string, namespace: string, suffix: string) => ({
  sort: "Service",
  service: name,
  namespace,
  suffix,
});
const inside = { sort: "Inside" };
const outside = { sort: "Outside" };
const address = (text: string) => ({ sort: "Address", address: text });

describe("a host's name", () => {
  const cases: [string, object][] = [
    ["db.shop.svc.cluster.local", service("db", "shop", "svc.cluster.local")],
    ["db.shop.svc.cluster.local.", service("db", "shop", "svc.cluster.local")],
    ["DB.Shop.SVC.Cluster.Local", service("db", "shop", "svc.cluster.local")],
    ["db-0.db.shop.svc.cluster.local", service("db-0.db", "shop", "svc.cluster.local")],
    ["db.shop.svc.clusterset.local", service("db", "shop", "svc.clusterset.local")],
    ["db.shop.svc", service("db", "shop", "svc")],
    ["db-0.db.shop.svc", service("db-0.db", "shop", "svc")],
    ["shop.svc", inside],
    ["svc", inside],
    ["svc.cluster.local", inside],
    ["shop.svc.cluster.local", inside],
    ["cluster.local", inside],
    ["anything.cluster.local", inside],
    ["10-0-0-1.shop.pod.cluster.local", inside],
    ["10-0-0-1.shop.pod", inside],
    ["db", inside],
    ["localhost", inside],
    ["a.localhost", inside],
    ["", inside],
    ["db.shop", { ...outside, namespace: "shop" }],
    ["db-0.db.shop", { ...outside, namespace: "shop" }],
    ["example.com", { ...outside, namespace: "com" }],
    ["www.example.com", { ...outside, namespace: "com" }],
    ["www.eu.example.com", outside],
    ["db.shop.svc.example.com", outside],
    ["mycluster.local", { ...outside, namespace: "local" }],
    ["10.0.0.1", address("10.0.0.1")],
    ["10.0.0.1.", address("10.0.0.1")],
    ["010.0.0.1", address("010.0.0.1")],
    ["127.1", address("127.1")],
    ["2130706433", address("2130706433")],
    ["0x7f000001", address("0x7f000001")],
    ["0x7f.0.0.0x1", address("0x7f.0.0.0x1")],
    ["fd00::1", address("fd00::1")],
  ];
  for (const [host, meant] of cases)
    test(`${JSON.stringify(host)} is ${JSON.stringify(meant)}`, () => assert.deepEqual(namedHost(host), meant));

  test("is within whatever domains a cluster has", () => {
    const domains = ["k8s.example.com"];
    const found = service("db", "shop", "svc.k8s.example.com");
    assert.deepEqual(namedHost("db.shop.svc.k8s.example.com", domains), found);
    assert.deepEqual(namedHost("nas.example.com", domains), { ...outside, namespace: "com" });
  });
});

test("the domains of a cluster are what its pods search", () => {
  const usual = ["cluster.local", "clusterset.local"];
  assert.deepEqual(clusterDomains(""), usual);
  assert.deepEqual(clusterDomains("nameserver 10.96.0.10\nsearch example.com\n"), usual);
  const pods = "search fjord.svc.k8s.corp svc.k8s.corp k8s.corp corp.example\noptions ndots:5\n";
  assert.deepEqual(clusterDomains(pods), ["k8s.corp", ...usual]);
  assert.deepEqual(clusterDomains("search a.svc.cluster.local svc.cluster.local. cluster.local"), usual);
});
