// Pods come and go while the controllers of both sides are ended, requests in hand included, and begun again at random
// moments: the same ones each time. FJORD_LIVES_SEED plays others, FJORD_LIVES_ROUNDS makes it longer, and new.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ORIGIN_UID_LABEL, ShadowPod } from "@fjord/api";
import { type Kind, seededRandom } from "@fjord/base";
import { ifNotFound, Pod } from "@fjord/kube";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { isReady, newPod, type PodBed, SHOP, startPodBed, TWIN, until } from "./test-pod-bed.ts";

const { FJORD_LIVES_SEED, FJORD_LIVES_ROUNDS } = process.env;
const seed = Number(FJORD_LIVES_SEED ?? (FJORD_LIVES_ROUNDS === undefined ? 42 : Math.floor(Math.random() * 2 ** 31)));
const rounds = Number(FJORD_LIVES_ROUNDS ?? 40);

describe(`pods whose controllers are killed at any step (seed ${seed})`, {
  skip: kubernetesSkip(),
  timeout: 300_000,
}, () => {
  let bed: PodBed;
  before(async () => {
    bed = await startPodBed();
    bed.begin("guests");
    bed.begin("offloader");
  });
  after(() => bed?.[Symbol.asyncDispose]());

  it("are run once each, and none is lost or left", async () => {
    const { consumer, provider } = bed;
    const random = seededRandom(seed);
    const stop = new AbortController();
    const guestsOf = new Map<string, Set<string>>();
    const { metadata } = await provider.list(Pod, { namespace: TWIN });
    const witness = (async () => {
      const { resourceVersion = "" } = metadata;
      for await (const event of provider.watch(Pod, { namespace: TWIN, resourceVersion, signal: stop.signal })) {
        if (event.type === "BOOKMARK") continue;
        const origin = event.object.metadata.labels?.[ORIGIN_UID_LABEL] ?? "";
        guestsOf.set(origin, (guestsOf.get(origin) ?? new Set()).add(event.object.metadata.uid ?? ""));
      }
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });

    const wanted = new Map<string, Pod>();
    const uids = new Set<string>();
    let made = 0;
    const steps: (() => Promise<unknown>)[] = [
      async () => {
        const pod = await consumer.create(Pod, newPod(`pod-${made++ % 12}`)).catch(() => undefined);
        if (pod === undefined) return;
        wanted.set(pod.metadata.name ?? "", pod);
        uids.add(pod.metadata.uid ?? "");
      },
      async () => {
        const name = [...wanted.keys()][Math.floor(random() * wanted.size)];
        if (name === undefined) return;
        wanted.delete(name);
        const gracePeriodSeconds = random() < 0.2 ? 0 : 30;
        await consumer.delete(Pod, { name, namespace: SHOP }, { gracePeriodSeconds }).catch(ifNotFound);
      },
      async () => {
        const which = random() < 0.5 ? "guests" : "offloader";
        await bed.end(which);
        bed.begin(which);
      },
    ];
    const weights = [0.5, 0.8, 1];
    for (let round = 0; round < rounds; round++) {
      const dice = random();
      await steps[weights.findIndex((weight) => dice < weight)]?.();
      // Somewhere within what the last step has set off.
      await new Promise((resolve) => setTimeout(resolve, random() * 60));
    }
    for (const name of wanted.keys()) await until<Pod>(consumer, Pod, { name, namespace: SHOP }, isReady, 30_000);
    for (const { metadata } of (await consumer.list(Pod, { namespace: SHOP })).items) {
      const { name = "", deletionTimestamp } = metadata;
      const isGone = (pod: Pod | undefined) => pod === undefined;
      if (deletionTimestamp) await until<Pod>(consumer, Pod, { name, namespace: SHOP }, isGone, 30_000);
    }
    const expected = [...wanted.keys()].sort();
    for (const kind of [Pod, ShadowPod] as Kind[]) {
      for (const { metadata } of (await provider.list(kind, { namespace: TWIN })).items) {
        const { name = "" } = metadata;
        if (!wanted.has(name))
          await until<Pod>(provider, kind, { name, namespace: TWIN }, (object) => object === undefined);
      }
      const { items } = await provider.list(kind, { namespace: TWIN });
      assert.deepEqual(items.map((object) => object.metadata.name).sort(), expected);
    }
    stop.abort();
    await witness;
    for (const [origin, guests] of guestsOf) {
      assert.ok(uids.has(origin), `a guest of nobody: ${origin}`);
      assert.equal(guests.size, 1, `the pod ${origin} was run ${guests.size} times`);
    }
  });
});
