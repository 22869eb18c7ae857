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
    const next = await tokens.keep(pod, shadow, "north", there, { signal: new AbortController().signal });
    assert.ok(Math.abs((next ?? 0) - life * 0.8) <= 1_000, `${ahead}: ${next}`);
  }
});
