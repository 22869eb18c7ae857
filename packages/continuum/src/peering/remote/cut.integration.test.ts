import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CONSUMER_LABEL } from "@fjord/api";
import { aborted } from "@fjord/base";
import { Cache, ConfigMap } from "@fjord/kube";
import type { Bed } from "@fjord/testbed";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { type RemoteSite, remoteTiming } from "../../remote-site.ts";
import { TestProvider } from "../proxy/test-provider.ts";
import { means } from "../server/test-sites.ts";

describe("a provider behind a network that breaks", { skip: kubernetesSkip() }, () => {
  let bed: Bed;
  let provider: TestProvider;
  const names: [string, string] = ["", ""];

  before(async () => {
    bed = await startTestBed({ sites: 2, components: "apiserver" });
    const [near, far] = bed.sites;
    assert.ok(near !== undefined && far !== undefined);
    names.splice(0, 2, near.name, far.name);
    provider = await TestProvider.start(far);
  });
  after(async () => {
    await provider?.[Symbol.asyncDispose]();
    await bed?.stop();
  });

  for (const way of ["dialled", "tunnelled"] as const) {
    for (const reset of [false, true]) {
      test(`${way}: its loss (${reset ? "connections reset" : "silence"}) and its return are seen at once`, async () => {
        const [near, far] = names;
        const [from, to] = way === "dialled" ? [near, far] : [far, near];
        await using consumer = await provider.consume(way, {}, (target) => bed.path(from, to).expose(target));
        const { remote } = consumer;
        await until(remote, () => remote.reachability.reachable);
        assert.equal(remote.reachability.reason, way === "dialled" ? "Dialled" : "Tunnelled");

        const stop = new AbortController();
        const maps = new Cache({ ...means, kind: ConfigMap, client: remote.kube, timing: remoteTiming });
        const running = maps.run(stop.signal);
        try {
          await maps.waitForSync();
          const lostAndBack = async (name: string) => {
            const cutAt = Date.now();
            await bed.cut(near, far, { reset });
            await until(remote, () => !remote.reachability.reachable);
            const lost = Date.now() - cutAt;
            const since = remote.reachability.since - cutAt;
            await assert.rejects(remote.kube.list(ConfigMap));

            const labels = { [CONSUMER_LABEL]: provider.consumer.id };
            const namespace = provider.twinOf(provider.consumer);
            const metadata = { name, namespace, labels };
            await provider.client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });

            const healedAt = Date.now();
            await bed.heal(near, far);
            await until(remote, () => remote.reachability.reachable);
            const returned = Date.now() - healedAt;
            const again = Promise.withResolvers<void>();
            maps.addHandler({ onAdd: (object) => void (object.metadata.name === name && again.resolve()) });
            await soon("the watch goes on", again.promise);
            const caughtUp = Date.now() - healedAt;
            return { lost, since, returned, caughtUp };
          };
          // `since`: from when on it counts as lost. Two seconds of hysteresis later its node is not ready, within three.
          const isSoon = ({ lost, since, returned, caughtUp }: Awaited<ReturnType<typeof lostAndBack>>) =>
            lost < 3_500 && since < 1_000 && returned < 1_500 && caughtUp < 4_000;
          const times = [await lostAndBack(`made-meanwhile-${way}-${reset}`)];
          // A machine that does other work as well adds to every time: what is soon enough once is soon enough.
          while (times.length < 3 && !times.some(isSoon))
            times.push(await lostAndBack(`made-meanwhile-${way}-${reset}-${times.length}`));
          assert.ok(times.some(isSoon), `milliseconds after the cut and the healing: ${JSON.stringify(times)}`);
        } finally {
          // Else it would go on trying, and this process with it.
          stop.abort();
          await running;
          await bed.heal(near, far);
        }
      });
    }
  }
});

async function until(remote: RemoteSite, condition: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => condition() && resolve();
  const unsubscribe = remote.onChange(look);
  look();
  await soon(`${condition}`, promise).finally(unsubscribe);
}

/** A test that waits for ever says nothing of why, and holds up all others. */
async function soon(what: string, promise: Promise<void>): Promise<void> {
  const given = AbortSignal.timeout(30_000);
  await Promise.race([
    promise,
    aborted(given).then(() => {
      throw new Error(`not within 30 s: ${what}`);
    }),
  ]);
}
