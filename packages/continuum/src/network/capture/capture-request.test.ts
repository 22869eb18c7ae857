import assert from "node:assert/strict";
import { test } from "node:test";
import { captureRequest } from "./capture-request.ts";

const good = { site: "abc", durationMs: 1000, bytes: 100 };

test("a request is taken as it is", () => {
  assert.deepEqual(captureRequest(good), { ...good, hosts: [], ports: [] });
  const whole = { ...good, hosts: [["10.0.0.0/8", "fd42::1"]], ports: [80], protocol: "udp", snaplen: 64, packets: 5 };
  assert.deepEqual(captureRequest({ ...whole, ports: [80, 80] }), whole);
});

test("whatever could be more than a filter is refused", () => {
  const bad: unknown[] = [
    undefined,
    "abc",
    { ...good, site: "a; drop" },
    { ...good, site: undefined },
    { ...good, hosts: "10.0.0.1" },
    { ...good, hosts: [[]] },
    { ...good, hosts: [["10.0.0.1 } accept"]] },
    { ...good, hosts: [["0.0.0.0/0"]] },
    { ...good, hosts: [[7]] },
    { ...good, hosts: [Array.from({ length: 3000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)] },
    { ...good, ports: [0] },
    { ...good, ports: ["80"] },
    { ...good, ports: Array.from({ length: 65 }, (_, i) => i + 1) },
    { ...good, protocol: "gre" },
    { ...good, snaplen: -1 },
    { ...good, packets: 1.5 },
    { ...good, durationMs: 3_600_001 },
    { ...good, durationMs: undefined },
    { ...good, bytes: 2 ** 31 },
  ];
  for (const value of bad)
    assert.throws(() => captureRequest(value), { code: "CAPTURE_INVALID_REQUEST" }, JSON.stringify(value));
});
