import assert from "node:assert/strict";
import { test } from "node:test";
import { CONSUMER_LABEL, newObject, ORIGIN_UID_LABEL, ShadowPod } from "@fjord/api";
import { CONTRACT_ANNOTATION, guestPod, isGuestOf, secondsOf } from "./guest-pod.ts";

const twin = { consumer: "consumerconsumerconsumer22", name: "shop-twin", uid: "n-1" };

function shadowOf(
  spec: unknown,
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> } = {},
) {
  return newObject(ShadowPod, {
    metadata: { name: "web", namespace: "shop-twin", uid: "s-1", generation: 3 },
    spec: { contract: "c-1", originUid: "u-1", pod: { metadata, spec: spec as { containers: [] } } },
  });
}

const plain = { containers: [{ name: "main", image: "busybox:1" }] };

test("a guest says whose it is, and no consumer can say otherwise", () => {
  const labels = { app: "web", [CONSUMER_LABEL]: "somebody", [ORIGIN_UID_LABEL]: "else" };
  const annotations = { note: "x", [CONTRACT_ANNOTATION]: "c-9", "fjord.dev/shadow-uid": "s-9" };
  const pod = guestPod(shadowOf(plain, { labels, annotations }), twin);
  assert.deepEqual(pod.metadata.labels, { app: "web", [CONSUMER_LABEL]: twin.consumer, [ORIGIN_UID_LABEL]: "u-1" });
  assert.equal(pod.metadata.annotations?.[CONTRACT_ANNOTATION], "c-1");
  assert.equal(pod.metadata.annotations?.note, "x");
  assert.ok(isGuestOf(pod, shadowOf(plain)));
});

test("a guest has no credentials of the provider, whatever its spec asks for", () => {
  const spec = { ...plain, serviceAccountName: "admin", serviceAccount: "admin", automountServiceAccountToken: true };
  const pod = guestPod(shadowOf(spec), twin);
  assert.equal(pod.spec?.serviceAccountName, "default");
  assert.equal(pod.spec?.serviceAccount, undefined);
  assert.equal(pod.spec?.automountServiceAccountToken, false);
});

test("a guest begins without ephemeral containers, which come to pods that run", () => {
  const spec = { ...plain, ephemeralContainers: [{ name: "debug", image: "busybox:1" }] };
  assert.equal(guestPod(shadowOf(spec), twin).spec?.ephemeralContainers, undefined);
});

test("a guest is controlled, so that nobody adopts it and its node can be drained", () => {
  const [owner] = guestPod(shadowOf(plain), twin).metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.kind, owner?.uid, owner?.controller], ["Namespace", "n-1", true]);
});

test("a grace that is no number of seconds is the usual one", () => {
  assert.equal(secondsOf("0"), 0);
  assert.equal(secondsOf("77"), 77);
  for (const text of ["-1", "1.5", "1e99", "x"]) assert.equal(secondsOf(text), 30, text);
});
