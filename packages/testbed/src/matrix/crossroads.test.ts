import assert from "node:assert/strict";
import { test } from "node:test";
import { isHidden, isLed, routerRules } from "./crossroads.ts";
import { topologies } from "./matrix-cell.ts";

test("nothing is in the way of gateways that meet directly, nor of the third site's", () => {
  for (const place of [1, 2, 3] as const) assert.equal(routerRules("direct", place), "");
  for (const topology of topologies) assert.equal(routerRules(topology, 3), "", topology);
});

test("a NAT hides addresses of both families, and lets in only answers", () => {
  const rules = routerRules("NAT one side", 1);
  assert.match(rules, /iifname "out" ct state != \{ established, related \} drop/);
  assert.match(rules, /ip saddr 172\.31\.1\.0\/24 snat ip to 203\.0\.113\.1/);
  assert.match(rules, /ip6 saddr 2001:db8:1::\/64 snat ip6 to 2001:db8:ff::1/);
  assert.equal(routerRules("NAT one side", 2), "");
  assert.deepEqual(
    [isHidden("NAT both", 2), isHidden("NAT both", 3), isHidden("NAT one side", 2)],
    [true, false, false],
  );
});

test("a NAT says nothing to whom nobody has asked, and calls those behind it by one port, or by any", () => {
  assert.match(
    routerRules("NAT both", 2),
    /hook input .*\n.*iifname "out" meta l4proto \{ tcp, udp \} ct state new drop/,
  );
  assert.doesNotMatch(routerRules("NAT both", 2), /random/);
  assert.match(routerRules("symmetric NATs", 2), /snat ip6 to 2001:db8:ff::2 random,fully-random/);
});

test("the third site leads only those to each other that need it, so that nobody else has it to fall back on", () => {
  assert.deepEqual(topologies.filter(isLed), ["hub", "NAT both", "symmetric NATs"]);
});

test("those that only meet through a third one reach nothing of each other", () => {
  assert.match(routerRules("hub", 1), /ip daddr \{ 172\.31\.2\.0\/24, 203\.0\.113\.2 \} drop/);
  assert.match(routerRules("hub", 2), /ip6 daddr \{ 2001:db8:1::\/64, 2001:db8:ff::1 \} drop/);
});

test("where UDP does not pass, it passes in neither direction", () => {
  for (const place of [1, 2] as const) assert.match(routerRules("TCP only", place), /meta l4proto udp drop/);
});
