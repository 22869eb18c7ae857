import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { HOME_API_ANNOTATION, ShadowPod } from "@fjord/api";
import { Pod, Secret } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { JumpingClock } from "../../test-jumping-clock.ts";
import { wantedTokens } from "./forge/index.ts";
import { isReady, newPod, type PodBed, SHOP, startPodBed, TWIN, until } from "./test-pod-bed.ts";

const MINUTE = 60_000;

describe("tokens of the home API at another site", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  const clock = new JumpingClock();
  let bed: PodBed;

  before(async () => {
    bed = await startPodBed({ clock });
    bed.begin("guests");
    bed.begin("offloader");
  });
  after(() => bed?.[Symbol.asyncDispose]());

  it("are renewed before they expire, and go with the pod", async () => {
    const { consumer } = bed;
    const key = { name: "caller", namespace: SHOP };
    const lifeMs = 10 * MINUTE;
    const serviceAccountToken = { path: "token", expirationSeconds: lifeMs / 1000 };
    const asked = newPod("caller", {
      automountServiceAccountToken: false,
      volumes: [{ name: "identity", projected: { sources: [{ serviceAccountToken }] } }],
      containers: [
        { name: "main", image: "busybox:1", volumeMounts: [{ name: "identity", mountPath: "/var/run/identity" }] },
      ],
    });
    const annotations = { [HOME_API_ANNOTATION]: "true" };
    await consumer.create(Pod, { ...asked, metadata: { ...asked.metadata, annotations } });
    const pod = await until<Pod>(consumer, Pod, key, isReady);
    const [wanted] = wantedTokens(pod as Pod);
    assert.ok(wanted, "the pod mounts a token");

    const first = await token(wanted.secret, () => true);
    assert.equal(await userOf(first), `system:serviceaccount:${SHOP}:default`);
    assert.ok(expiry(first) - Date.now() > lifeMs - MINUTE);

    clock.jump(lifeMs * 0.5);
    await consumer.patch(Pod, key, "merge", { metadata: { labels: { touched: "yes" } } });
    await until<Pod>(
      bed.provider,
      Pod,
      { ...key, namespace: TWIN },
      (guest) => guest?.metadata.labels?.touched === "yes",
    );
    assert.equal(await token(wanted.secret, () => true), first, "half of its life is no reason to renew it");

    clock.jump(lifeMs * 0.35);
    assert.ok(clock.now() < expiry(first), "the first one is still good");
    const second = await token(wanted.secret, (text) => text !== first);
    assert.equal(await userOf(second), `system:serviceaccount:${SHOP}:default`);

    // The provider's garbage collector takes what was the first one's.
    const there = { ...key, namespace: TWIN };
    const before = await bed.provider.get(ShadowPod, there);
    await bed.provider.delete(ShadowPod, there);
    const shadow = await until<ShadowPod>(
      bed.provider,
      ShadowPod,
      there,
      (found) => found !== undefined && found.metadata.uid !== before.metadata.uid,
    );
    await until<Secret>(bed.provider, Secret, { name: wanted.secret, namespace: TWIN }, (found) =>
      (found?.metadata.ownerReferences ?? []).some(({ uid }) => uid === shadow?.metadata.uid),
    );

    await consumer.delete(Pod, key);
    await until<Pod>(consumer, Pod, key, (found) => found === undefined);
    await gone(wanted.secret);
  });

  async function token(name: string, is: (text: string) => boolean): Promise<string> {
    const signal = AbortSignal.timeout(60_000);
    for (;;) {
      const { items, metadata } = await bed.provider.list(Secret, { namespace: TWIN, signal });
      const data = items.find((each) => each.metadata.name === name)?.data?.token;
      const text = data === undefined ? undefined : Buffer.from(data, "base64").toString("utf8");
      if (text !== undefined && is(text)) return text;
      await next(metadata.resourceVersion, signal);
    }
  }

  async function gone(name: string): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    for (;;) {
      const { items, metadata } = await bed.provider.list(Secret, { namespace: TWIN, signal });
      if (!items.some((each) => each.metadata.name === name)) return;
      await next(metadata.resourceVersion, signal);
    }
  }

  /** The next change to any Secret there. */
  async function next(resourceVersion: string | undefined, signal: AbortSignal): Promise<void> {
    const options = { namespace: TWIN, signal, ...(resourceVersion && { resourceVersion }) };
    for await (const { type } of bed.provider.watch(Secret, options)) if (type !== "BOOKMARK") return;
  }

  /** Whom the home API takes the bearer for; undefined for nobody. */
  async function userOf(bearer: string): Promise<string | undefined> {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: bearer } };
    const path = "/apis/authentication.k8s.io/v1/tokenreviews";
    const { body } = await bed.consumer.raw("POST", path, { body: JSON.stringify(review) });
    return (JSON.parse(body.toString("utf8")) as { status: { user?: { username?: string } } }).status.user?.username;
  }
});

function expiry(bearer: string): number {
  const [, claims = ""] = bearer.split(".");
  return (JSON.parse(Buffer.from(claims, "base64url").toString("utf8")) as { exp: number }).exp * 1000;
}
