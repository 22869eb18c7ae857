import assert from "node:assert/strict";
import { test } from "node:test";
import { captureChains, captureTable, type TableCapture } from "./capture-table.ts";

const link = { interfaces: ["fjord0", "fjord1"], ranges: ["240.0.0.0/16", "fd66::/64"] };
const capture = (request: TableCapture["request"] = {}, group = 7450): TableCapture => ({ group, request, ...link });

test("without captures there is no table", () => {
  assert.equal(captureTable([]), "table inet fjord-capture\ndelete table inet fjord-capture\n");
});

test("packets of the link are logged, of all its interfaces and both families, in both directions", () => {
  const chains = captureChains([capture()]);
  assert.deepEqual(chains.get("capture-7450"), ["log group 7450 queue-threshold 1"]);
  assert.deepEqual(chains.get("arrive")?.slice(1), [
    'iifname { "fjord0", "fjord1" } ip saddr { 240.0.0.0/16 } jump capture-7450',
    'iifname { "fjord0", "fjord1" } ip6 saddr { fd66::/64 } jump capture-7450',
  ]);
  assert.equal(chains.get("leave")?.[1], 'oifname { "fjord0", "fjord1" } ip daddr { 240.0.0.0/16 } jump capture-7450');
});

test("each thing that is asked for leads on to the next, and the last one logs", () => {
  const hosts = [["10.42.0.11", "10.42.0.0/24", "fd42::1"], ["240.0.0.21"]];
  const chains = captureChains([capture({ hosts, ports: [80, 443], protocol: "tcp", snaplen: 96 })]);
  assert.deepEqual(chains.get("capture-7450"), ["meta l4proto tcp goto capture-7450-1"]);
  assert.deepEqual(chains.get("capture-7450-1"), [
    "meta l4proto { tcp, udp, sctp } th sport { 80, 443 } goto capture-7450-2",
    "meta l4proto { tcp, udp, sctp } th dport { 80, 443 } goto capture-7450-2",
  ]);
  // nftables takes no address twice.
  assert.deepEqual(chains.get("capture-7450-2"), [
    "ip saddr { 10.42.0.0/24 } goto capture-7450-3",
    "ip daddr { 10.42.0.0/24 } goto capture-7450-3",
    "ip6 saddr { fd42::1 } goto capture-7450-3",
    "ip6 daddr { fd42::1 } goto capture-7450-3",
  ]);
  assert.deepEqual(chains.get("capture-7450-4"), ["log group 7450 snaplen 96 queue-threshold 1"]);
  const names = [...chains.keys()];
  assert.ok(names.indexOf("capture-7450-4") < names.indexOf("capture-7450-3"), "what is led to is made first");
});

test("several are side by side", () => {
  const text = captureTable([capture(), { ...capture({}, 7451), ranges: ["240.1.0.0/16"] }]);
  assert.equal(text.match(/jump capture-7450$/gm)?.length, 4);
  assert.equal(text.match(/jump capture-7451$/gm)?.length, 2);
});
