import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNetDev } from "./net-dev.ts";

test("the kernel's table gives each interface but loopback", () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:   12345      10    2    0    0     0          0         0     6789       9    3    0    0     0       0          0
net1:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`;
  assert.deepEqual(parseNetDev(text), [
    { name: "eth0", receivedBytes: 12345, sentBytes: 6789, receiveErrors: 2, sendErrors: 3 },
    { name: "net1", receivedBytes: 7, sentBytes: 8, receiveErrors: 0, sendErrors: 0 },
  ]);
  assert.deepEqual(parseNetDev(""), []);
});
