import assert from "node:assert/strict";
import { it } from "node:test";
import { Registry } from "@fjord/kube";
import { GatewayMetrics } from "./gateway-metrics.ts";

it("a gateway tells of its links, by the names of peers, and of what it has applied", async () => {
  const registry = new Registry();
  const names: Readonly<Record<string, string>> = { aaa: "wave" };
  const metrics = new GatewayMetrics({ registry, now: () => 1_000_000, nameOf: (id) => names[id] });
  const value = async (series: string) => {
    const line = (await registry.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.split(" ").at(-1));
  };
  assert.equal(await value("fjord_gateway_applied"), 0);
  assert.equal(await value("fjord_link_key_age_seconds"), undefined, "nobody has said");
  metrics.brought(true);
  metrics.drifted(2);
  assert.equal(await value('fjord_gateway_denied_packets_total{direction="in"}'), 0, "a rate needs where it began");
  metrics.denied({ in: 4, out: 0, beyond: 1 });
  metrics.denied({ in: 9, out: 2, beyond: 7 });
  metrics.carried([0, 2]);
  metrics.keyMade(400_000);
  metrics.answered("aaa", 3);
  const wave = { siteId: "aaa", handshakeAt: 970_000, receivedBytes: 100, sentBytes: 50, lossPercent: 5, mtu: 1380 };
  metrics.linked([wave]);
  metrics.linked([{ ...wave, receivedBytes: 107, sentBytes: 50 }]);
  metrics.linked([
    // Its WireGuard was started anew.
    { ...wave, receivedBytes: 3, sentBytes: 8 },
    { siteId: "bbb", fault: "its range would be everything", receivedBytes: 0, sentBytes: 0 },
  ]);
  const expected: Readonly<Record<string, number | undefined>> = {
    fjord_gateway_applied: 1,
    fjord_gateway_drift_total: 2,
    'fjord_gateway_denied_packets_total{direction="in"}': 9,
    'fjord_gateway_denied_packets_total{direction="out"}': 2,
    fjord_gateway_beyond_packets_total: 7,
    'fjord_gateway_lane{lane="0"}': 1,
    'fjord_gateway_lane{lane="1"}': undefined,
    'fjord_gateway_lane{lane="2"}': 1,
    fjord_link_key_age_seconds: 600,
    'fjord_link_ready{site="wave"}': 1,
    'fjord_link_ready{site="bbb"}': 0,
    'fjord_link_received_bytes_total{site="wave"}': 10,
    'fjord_link_sent_bytes_total{site="wave"}': 8,
    'fjord_link_sent_bytes_total{site="bbb"}': undefined,
    'fjord_link_handshake_age_seconds{site="wave"}': 30,
    'fjord_link_loss_ratio{site="wave"}': 0.05,
    'fjord_link_mtu_bytes{site="wave"}': 1380,
    'fjord_link_latency_seconds_bucket{le="0.0025",site="wave"}': 0,
    'fjord_link_latency_seconds_bucket{le="0.005",site="wave"}': 1,
  };
  for (const [series, number] of Object.entries(expected)) assert.equal(await value(series), number, series);
  metrics.linked([{ ...wave, signs: { askedSince: 0, heardAt: 999_000, unanswered: 0 } }]);
  metrics.linked([{ ...wave, signs: { askedSince: 0, heardAt: 997_000, unanswered: 9, unansweredSince: 998_000 } }]);
  assert.equal(await value('fjord_link_ready{site="wave"}'), 0, "it has fallen silent");
  metrics.linked([]);
  metrics.carried([]);
  assert.equal(await value('fjord_gateway_lane{lane="0"}'), undefined);
  assert.equal(await value('fjord_link_ready{site="wave"}'), undefined, "a link that is gone is not told of");
});
