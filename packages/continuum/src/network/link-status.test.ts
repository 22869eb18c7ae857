import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Link, newObject } from "@fjord/api";
import { isLaneNews, isSaidSilent, laneStatuses, linkStatus } from "./link-status.ts";

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

  it("is silent where the peer has fallen so, whatever it has agreed on before, and stays so until something is known", () => {
    const [status, reason, message] = ready({ handshakeAt: now - 1_000, silent: true });
    assert.deepEqual([status, reason], ["False", "Silent"]);
    assert.match(String(message), /does not now/);
    const said = {
      ...link,
      status: linkStatus(link, { ...bytes, handshakeAt: now - 1_000, silent: true }, now),
    } as Link;
    assert.equal(isSaidSilent(said), true);
    assert.equal(isSaidSilent(link), false);
    const next = (seen: object) => linkStatus(said, { ...bytes, ...seen }, now + 9_000).conditions?.[0]?.reason;
    // Another process begins: it has not asked yet.
    assert.equal(next({ handshakeAt: now - 1_000 }), "Silent");
    assert.equal(next({ handshakeAt: now + 5_000 }), "HandshakeSeen");
    assert.equal(next({ handshakeAt: now - 1_000, silent: false }), "HandshakeSeen");
    assert.equal(next({ fault: "its key is none", silent: true }), "NotApplied");
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

describe("the endpoint of a link", () => {
  const told = (seen: object, spec: object = {}) =>
    linkStatus({ ...link, spec: { ...link.spec, ...spec } }, { ...bytes, endpoint: "250.1.2.3:51820", ...seen }, now)
      .endpoint;

  it("is told where the two gateways meet, and nothing of the inside where they do not", () => {
    const hub = "b".repeat(26);
    assert.equal(told({ way: "direct" }), "250.1.2.3:51820");
    assert.equal(told({ way: "hub", via: hub }), undefined);
    assert.equal(told({ way: "tcp" }), undefined);
    assert.equal(told({}, { via: hub }), undefined);
  });
});

describe("the status of lanes", () => {
  const here = { lane: 0, handshakeAt: now - 200_000, endpoint: "a:1", receivedBytes: 1, sentBytes: 2, silent: true };
  const seen = { ...bytes, handshakeAt: now - 200_000, lanes: [here] };
  const other = { lane: 1, node: "two", receivedBytes: 10, sentBytes: 20, handshakeAt: new Date(now).toISOString() };
  const laned = { ...link, spec: { ...link.spec, lanes: [{ endpoints: [] }] }, status: { lanes: [other] } } as Link;

  it("is of those that are here, by node, and says where one is silent", () => {
    assert.deepEqual(laneStatuses(seen, "one"), [
      { lane: 0, node: "one", endpoint: "a:1", handshakeAt: "2030-01-01T00:06:40.000Z", ...bytes, silent: true },
    ]);
    assert.deepEqual(laneStatuses({ ...seen, lanes: [{ ...here, silent: false }] })[0]?.silent, undefined);
    assert.deepEqual(laneStatuses(bytes), []);
  });

  it("counts for the link, whoever carries it: it is ready while one lane is", () => {
    const status = linkStatus(laned, seen, now);
    assert.deepEqual(
      [status.receivedBytes, status.sentBytes, status.conditions?.[0]?.reason],
      [11, 22, "HandshakeSeen"],
    );
  });

  it("is of a link that is not silent while a lane that others carry answers", () => {
    const fallen = { ...seen, silent: true };
    assert.notEqual(linkStatus(laned, fallen, now).conditions?.[0]?.reason, "Silent");
    const all = { ...laned, status: { lanes: [{ ...other, silent: true }] } } as Link;
    assert.equal(linkStatus(all, fallen, now).conditions?.[0]?.reason, "Silent");
  });

  it("does not count where the link has no such lane any more", () => {
    assert.equal(linkStatus({ ...laned, spec: link.spec } as Link, seen, now).receivedBytes, 1);
  });

  it("is news where it is another node, place, key or silence, and not for numbers", () => {
    const [status] = laneStatuses(seen, "one");
    assert.ok(status);
    assert.equal(isLaneNews(status, undefined), true);
    assert.equal(isLaneNews(status, { ...status, receivedBytes: 9 }), false);
    for (const change of [{ node: "two" }, { endpoint: "b:1" }, { handshakeAt: "x" }, { silent: false }])
      assert.equal(isLaneNews(status, { ...status, ...change }), true);
  });
});
