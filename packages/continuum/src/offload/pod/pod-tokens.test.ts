import assert from "node:assert/strict";
import { test } from "node:test";
import type { ShadowPod } from "@fjord/api";
import { ManualClock } from "@fjord/base/testing";
import type { KubeClient, Pod } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { serverClockOf } from "../../test-server-clock.ts";
import { PodTokens } from "./pod-tokens.ts";

const pod = {
  metadata: { name: "web", namespace: "shop", uid: "u" },
  spec: {
    volumes: [{ name: "token", projected: { sources: [{ serviceAccountToken: { path: "t", audience: "mine" } }] } }],
    containers: [{ name: "main", image: "a", volumeMounts: [{ name: "token", mountPath: "/token" }] }],
  },
} as unknown as Pod;
const shadow = { metadata: { name: "web", namespace: "twin", uid: "s" } } as ShadowPod;

test("a token is renewed at four fifths of its life, however wrong the agent's clock is", async () => {
  const life = 600_000;
  for (const ahead of [-480_000, 0, 480_000]) {
    const clock = new ManualClock();
    const client = {
      serverClock: serverClockOf(clock, ahead),
      createToken: async () => ({
        token: "t",
        expirationTimestamp: new Date(clock.now() + ahead + life).toISOString(),
      }),
    };
    const tokens = new PodTokens({ client, clock, identity: { id: "home" } } as unknown as Home);
    const there = { apply: async () => {} } as unknown as KubeClient;
    const next = await tokens.keep(pod, shadow, there, { signal: new AbortController().signal });
    assert.ok(Math.abs((next ?? 0) - life * 0.8) <= 1_000, `${ahead}: ${next}`);
  }
});

test("what a pod was brought is brought again to another shadow pod of it, whose twin namespace may be another too", async () => {
  const clock = new ManualClock();
  const client = {
    serverClock: serverClockOf(clock),
    get: async () => ({ data: { "ca.crt": "an authority" } }),
    createToken: async () => ({ token: "t", expirationTimestamp: new Date(clock.now() + 3_600_000).toISOString() }),
  };
  const brought: string[] = [];
  const there = { apply: async (kind: { kind: string }) => brought.push(kind.kind) } as unknown as KubeClient;
  const tokens = new PodTokens({ client, clock, identity: { id: "home" } } as unknown as Home);
  const work = { signal: new AbortController().signal };
  const authority = { name: "ca", configMap: { name: "kube-root-ca.crt" } };
  const trusting = { ...pod, spec: { ...pod.spec, volumes: [...(pod.spec?.volumes ?? []), authority] } } as Pod;
  const of = (uid: string) => ({ ...shadow, metadata: { ...shadow.metadata, uid } });
  const left = await tokens.keep(trusting, of("first"), there, work);
  assert.deepEqual(brought.splice(0), ["ConfigMap", "Secret"]);
  assert.equal(await tokens.keep(trusting, of("first"), there, work), left);
  assert.deepEqual(brought.splice(0), []);
  await tokens.keep(trusting, of("second"), there, work);
  assert.deepEqual(brought.splice(0), ["ConfigMap", "Secret"]);
  await clock.advance(left ?? 0);
  await tokens.keep(trusting, of("second"), there, work);
  assert.deepEqual(brought.splice(0), ["Secret"]);
  // Another pod may be the first after its namespace was brought home and back.
  const next = { ...trusting, metadata: { ...trusting.metadata, uid: "next" } };
  const own = { ...next, spec: { ...next.spec, volumes: [authority] } } as Pod;
  assert.equal(await tokens.keep(own, of("third"), there, work), undefined);
  assert.equal(await tokens.keep(own, of("third"), there, work), undefined);
  assert.deepEqual(brought.splice(0), ["ConfigMap"]);
});
