import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL, ORIGIN_UID_LABEL, ShadowPod } from "@fjord/api";
import { Pod } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { CONSUMER, isReady, newPod, type PodBed, SHOP, startPodBed, TWIN, until } from "./test-pod-bed.ts";

describe("a pod on a virtual node", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let bed: PodBed;
  before(async () => {
    const logger = process.env.FJORD_LOG ? console : undefined;
    bed = await startPodBed({ ...(logger && { logger }) });
    bed.begin("guests");
    bed.begin("offloader");
  });
  after(() => bed?.[Symbol.asyncDispose]());

  it("runs at the provider, and is told of as if it ran here", async () => {
    const { consumer, provider } = bed;
    const key = { name: "web", namespace: SHOP };
    const made = await consumer.create(Pod, newPod("web"));
    const ready = await until<Pod>(consumer, Pod, key, isReady);
    assert.equal(ready?.status?.phase, "Running");
    assert.equal(ready?.status?.hostIP, "10.9.9.9");
    const guest = await provider.get(Pod, { name: "web", namespace: TWIN });
    assert.equal(guest.metadata.labels?.[CONSUMER_LABEL], CONSUMER);
    assert.equal(guest.metadata.labels?.[ORIGIN_UID_LABEL], made.metadata.uid);
    assert.equal(ready?.status?.podIP, guest.status?.podIP);
    assert.ok(!JSON.stringify(ready?.status).includes(guest.spec?.nodeName ?? "?"));
  });

  it("is gone here once nothing of it is left there", async () => {
    const { consumer, provider } = bed;
    const key = { name: "web", namespace: SHOP };
    await consumer.delete(Pod, key);
    await until<Pod>(consumer, Pod, key, (pod) => pod === undefined);
    const list = { namespace: TWIN };
    assert.deepEqual((await provider.list(ShadowPod, list)).items, []);
    assert.deepEqual((await provider.list(Pod, list)).items, []);
  });
});
