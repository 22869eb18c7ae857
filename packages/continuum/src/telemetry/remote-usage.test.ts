import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { OffloadedPods } from "../offloaded-pods.ts";
import type { RemoteSites } from "../remote-site.ts";
import type { KnownVirtualNode, VirtualNodes } from "../virtual-nodes.ts";
import { RemoteUsage } from "./remote-usage.ts";

const node = { name: "lively-wave", site: "far", contract: "c-1" } as KnownVirtualNode;

function start(answer: (path: string, now: number) => unknown) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const call = async (_: string, path: string) => {
    asked.push(path);
    return answer(path, clock.now());
  };
  const pod = {
    metadata: { name: "web", namespace: "shop", uid: "u-home" },
    spec: { containers: [{ name: "main" }] },
    status: { startTime: "2030-01-01T00:00:00Z" },
  };
  const usage = new RemoteUsage({
    home: { clock },
    remotes: { get: (id: string) => (id === "far" ? { id, call } : undefined) } as unknown as RemoteSites,
    pods: { onNode: () => [{ pod, node, twinNamespace: "shop-a1" }] } as unknown as OffloadedPods,
    nodes: { at: () => [node], get: () => node } as unknown as VirtualNodes,
  });
  return { clock, asked, usage };
}
const web = (now: number, more: object = {}) => ({
  namespace: "shop-a1",
  name: "web",
  containers: [
    { name: "main", at: now, started: now, nanoCores: 5, coreNanoSeconds: 100, workingSetBytes: 9, ...more },
  ],
});

test("a pod's usage is told under its own name and uid, and the node's is the sum", async () => {
  const { usage } = start((_, now) => ({ now, pods: [web(now)], more: false }));
  const { pods, node: whole } = await usage.summary(node);
  assert.deepEqual(
    pods.map(({ podRef }) => podRef),
    [{ name: "web", namespace: "shop", uid: "u-home" }],
  );
  assert.equal(pods[0]?.containers[0]?.cpu?.usageNanoCores, 5);
  assert.deepEqual([whole.cpu?.usageCoreNanoSeconds, whole.memory?.workingSetBytes], [100, 9]);
});

test("a provider cannot tell of pods that are not on the node, nor of containers that a pod does not have", async () => {
  const { usage } = start((_, now) => {
    const other = { ...web(now), name: "other" };
    const twice = {
      ...web(now),
      containers: [...web(now).containers, ...web(now).containers, { ...web(now).containers[0], name: "extra" }],
    };
    return { now, pods: [other, twice], more: false };
  });
  const { pods, node: whole } = await usage.summary(node);
  assert.equal(pods.length, 1);
  assert.deepEqual(
    pods[0]?.containers.map(({ name }) => name),
    ["main"],
  );
  assert.equal(whole.cpu?.usageNanoCores, 5);
});

test("a clock that is wrong there is put right", async () => {
  const { usage, clock } = start((_, now) => ({ now: now - 3_600_000, pods: [web(now - 3_600_000)], more: false }));
  const { pods } = await usage.summary(node);
  assert.equal(pods[0]?.containers[0]?.cpu?.time, new Date(clock.now()).toISOString());
});

test("whoever asks at once, or soon after, is answered from one question", async () => {
  const { usage, asked, clock } = start((_, now) => ({ now, pods: [], more: false }));
  await Promise.all([usage.summary(node), usage.summary(node)]);
  await usage.summary(node);
  assert.equal(asked.length, 1);
  await clock.advance(5_000);
  await usage.summary(node);
  assert.equal(asked.length, 2);
});

test("a provider that has always one more page is not listened to for ever", async () => {
  const { usage, asked } = start((_, now) => ({ now, pods: [], more: true }));
  await usage.summary(node);
  assert.deepEqual(asked, ["/stats/0", "/stats/1", "/stats/2"]);
});

test("nonsense is an error that names the site, and is not remembered", async () => {
  let sane = false;
  const { usage } = start((_, now) => (sane ? { now, pods: [], more: false } : "nonsense"));
  await assert.rejects(usage.summary(node), /site far does not say/);
  await assert.rejects(usage.summary({ ...node, site: "nobody" }), /site nobody/);
  sane = true;
  assert.deepEqual((await usage.summary(node)).pods, []);
});
