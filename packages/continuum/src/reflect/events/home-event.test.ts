import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CoreEvent } from "@fjord/kube";
import fc from "fast-check";
import { podOf } from "../kinds/test-context.ts";
import { homeEvent, hostOf } from "./home-event.ts";

const now = Date.parse("2030-01-01T12:00:00Z");
const pod = {
  ...podOf("web-0"),
  metadata: { ...podOf("web-0").metadata, uid: "u1", creationTimestamp: "2030-01-01T11:00:00Z" },
};
const origin = { site: "provider", twinNamespace: "shop-twin", hosts: new Set(["worker-3.lan"]), now };
const eventOf = (changes: object = {}) =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "web-0.1", namespace: "shop-twin", uid: "e1" },
    involvedObject: {
      kind: "Pod",
      name: "web-0",
      namespace: "shop-twin",
      uid: "g1",
      fieldPath: "spec.containers{main}",
    },
    type: "Warning",
    reason: "BackOff",
    message: "Back-off restarting in shop-twin/web-0 on worker-3.lan",
    source: { component: "kubelet", host: "worker-3.lan" },
    count: 4,
    firstTimestamp: "2030-01-01T11:10:00Z",
    lastTimestamp: "2030-01-01T11:20:00Z",
    ...changes,
  }) as unknown as CoreEvent;

describe("the own pod's event", () => {
  it("says when by the own clock, where the provider's is off", () => {
    const event = homeEvent(eventOf(), pod, { ...origin, clockAhead: -240_000 });
    assert.equal(event?.firstTimestamp, "2030-01-01T11:14:00Z");
    assert.equal(event?.lastTimestamp, "2030-01-01T11:24:00Z");
  });

  it("says what the guest's says, of the own pod and in its names", () => {
    const event = homeEvent(eventOf(), pod, origin);
    assert.equal(event?.message, "Back-off restarting in shop/web-0 on wave");
    assert.deepEqual(
      { ...event?.involvedObject },
      {
        apiVersion: "v1",
        kind: "Pod",
        namespace: "shop",
        name: "web-0",
        uid: "u1",
        fieldPath: "spec.containers{main}",
      },
    );
    assert.deepEqual([event?.type, event?.reason, event?.count], ["Warning", "BackOff", 4]);
    assert.deepEqual(event?.source, { component: "kubelet", host: "wave" });
    assert.equal(event?.lastTimestamp, "2030-01-01T11:20:00Z");
  });

  it("may be of another own object whose twin it is about, which is on no node", () => {
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "books", namespace: "shop", uid: "u2", creationTimestamp: "2030-01-01T11:00:00Z" },
    };
    const event = homeEvent(eventOf({ reason: "ProvisioningFailed" }), claim, origin);
    const { uid } = claim.metadata;
    const about = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "books", uid };
    assert.deepEqual({ ...event?.involvedObject, fieldPath: undefined }, { ...about, fieldPath: undefined });
    assert.equal(event?.message, "Back-off restarting in shop/web-0 on a node there");
    assert.deepEqual([event?.source, event?.reportingInstance], [{ component: "kubelet" }, ""]);
  });

  it("is one and the same for the same event, and another for another", () => {
    const nameOf = (changes: object, site = "provider") =>
      homeEvent(eventOf(changes), pod, { ...origin, site })?.metadata.name;
    assert.equal(nameOf({}), nameOf({ count: 9 }));
    assert.notEqual(nameOf({}), nameOf({ metadata: { name: "web-0.2", uid: "e2" } }));
    assert.notEqual(nameOf({}), nameOf({}, "another"));
  });

  it("does not exist for the provider's ordinary scheduling, nor for what is no event", () => {
    assert.equal(homeEvent(eventOf({ reason: "Scheduled" }), pod, origin), undefined);
    for (const reason of ["", "two words", "x".repeat(129), 7, undefined])
      assert.equal(homeEvent(eventOf({ reason }), pod, origin), undefined);
    assert.equal(homeEvent(eventOf({ message: { a: 1 } }), pod, origin), undefined);
  });

  it("replaces whole names only", () => {
    const message = "shop-twin-2 and myshop-twin are others; shop-twin: is not";
    assert.equal(
      homeEvent(eventOf({ message }), pod, origin)?.message,
      "shop-twin-2 and myshop-twin are others; shop: is not",
    );
  });

  it("stays within the pod's life, whatever the provider's clock says", () => {
    const event = homeEvent(
      eventOf({ firstTimestamp: "1999-01-01T00:00:00Z", lastTimestamp: "2999-01-01T00:00:00Z" }),
      pod,
      origin,
    );
    assert.equal(event?.firstTimestamp, "2030-01-01T11:00:00Z");
    assert.equal(event?.lastTimestamp, "2030-01-01T12:00:00Z");
  });

  it("knows the provider's node from either way of saying it", () => {
    assert.equal(hostOf(eventOf()), "worker-3.lan");
    assert.equal(
      hostOf(eventOf({ source: undefined, reportingComponent: "kubelet", reportingInstance: "n-1" })),
      "n-1",
    );
    assert.equal(hostOf(eventOf({ source: { host: ".*" } })), undefined);
  });

  it("is sound whatever is sent", () => {
    const anything = fc.anything({ maxDepth: 2, withBigInt: false });
    const fields = fc.record({
      reason: fc.oneof(fc.constant("Killing"), anything),
      message: fc.oneof(fc.string({ unit: "binary", maxLength: 9_000 }), anything),
      type: anything,
      count: anything,
      firstTimestamp: anything,
      lastTimestamp: anything,
      eventTime: anything,
      source: fc.oneof(anything, fc.record({ component: anything, host: anything })),
      series: fc.option(fc.record({ count: anything, lastObservedTime: anything }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fields, (changes) => {
        const event = homeEvent(eventOf(changes), pod, origin);
        if (event === undefined) return;
        assert.ok((event.message?.length ?? 0) <= 1024 && event.message?.isWellFormed());
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
        assert.doesNotMatch(event.message ?? "", /[\u0000-\u0008\u001b]/);
        assert.ok(Number.isInteger(event.count) && (event.count ?? 0) >= 1);
        assert.ok(["Normal", "Warning"].includes(event.type ?? ""));
        for (const time of [event.firstTimestamp, event.lastTimestamp]) assert.ok(Date.parse(time ?? "") <= now);
        assert.equal(event.involvedObject.name, "web-0");
        assert.equal(event.metadata.namespace, "shop");
      }),
    );
  });
});
