import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Link, newObject } from "@fjord/api";
import { linkStatus } from "./link-status.ts";

const now = Date.parse("2030-01-01T00:10:00Z");
const link = newObject(Link, {
  metadata: { name: "mzxw6ytboi2dcmrtgq2tmnzyhe", generation: 3 },
  spec: { site: "mzxw6ytboi2dcmrtgq2tmnzyhe", publicKey: `${"Ab+/".repeat(10)}Abc=`, endpoints: [], groups: [] },
});
const bytes = { receivedBytes: 1, sentBytes: 2 };
const ready = (seen: object) => {
  const [condition] = linkStatus(link, { ...bytes, ...seen }, now).conditions ?? [];
  return [condition?.status, condition?.reason, condition?.message, condition?.observedGeneration];
};

describe("the status of a link", () => {
  it("is ready after a handshake, for as long as a key lasts", () => {
    assert.deepEqual(ready({ handshakeAt: now - 179_000 }), ["True", "HandshakeSeen", "", 3]);
    assert.deepEqual(ready({ handshakeAt: now - 180_000 }), ["False", "NoHandshake", "", 3]);
    assert.deepEqual(ready({}), ["False", "NoHandshake", "", 3]);
  });

  it("says why there is no link at all", () => {
    assert.deepEqual(ready({ fault: "its key is none" }), ["False", "NotApplied", "its key is none", 3]);
  });

  it("has where the peer was heard, when, and what went", () => {
    const status = linkStatus(link, { ...bytes, endpoint: "10.0.0.1:51820", handshakeAt: now }, now);
    assert.deepEqual(
      [status.endpoint, status.handshakeAt, status.receivedBytes, status.sentBytes],
      ["10.0.0.1:51820", "2030-01-01T00:10:00.000Z", 1, 2],
    );
  });
});
