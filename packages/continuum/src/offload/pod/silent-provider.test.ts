import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, ShadowPod, VirtualNode } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, Pod, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../../home.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { PodOffloader } from "./pod-offloader.ts";

const [SILENT, GOOD] = ["a".repeat(26), "b".repeat(26)] as const;
/** More than are worked on at once. */
const MANY = 40;

/** What is read comes from the server, and some of what is written goes elsewhere. */
function clientOf(server: FaultServer, writes: object): KubeClient {
  return new Proxy(new KubeClient(clusterConfig({ server: server.url })), {
    get: (target, property) => {
      const value = Reflect.get({ ...writes }, property) ?? Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test("pods go to a provider while another one, which shows pods that nobody has, answers no request", async () => {
  const [home, silent, good] = await Promise.all([FaultServer.start(), FaultServer.start(), FaultServer.start()]);
  const stop = new AbortController();
  let asked = 0;
  const never = (...args: { signal?: AbortSignal }[]) => {
    asked++;
    return new Promise((_, reject) => args.at(-1)?.signal?.addEventListener("abort", reject));
  };
  const kube = new Map([
    [SILENT as string, clientOf(silent, { delete: never, create: never })],
    [GOOD, clientOf(good, { create: async (kind: never, object: never) => good.create(kind, object) })],
  ]);
  for (let i = 0; i < MANY; i++) {
    const metadata = { name: `made-up-${i}`, namespace: "twin" };
    const spec = { originUid: `none-${i}`, contract: "c", recreate: "Always", pod: {} };
    silent.create(ShadowPod, { ...newObject(ShadowPod, { metadata, spec } as never) } as never);
  }
  const means = { clock: systemClock, random: Math.random, logger: silentLogger };
  const client = clientOf(home, {});
  const caches = new SharedCaches({ ...means, client });
  const remotes = new Map(
    [SILENT, GOOD].map((id) => {
      const remote = { id, kube: kube.get(id), reachability: { reachable: true }, report: undefined, clockAhead: 0 };
      return [id as string, remote as unknown as RemoteSite];
    }),
  );
  const nodes = [SILENT, GOOD].map((site) => ({
    name: `node-${site}`,
    site,
    contract: "c",
    object: newObject(VirtualNode, { metadata: { name: `node-${site}` }, spec: {} } as never) as VirtualNode,
  }));
  const nothing = { onChange: () => () => {} };
  const offloader = new PodOffloader({
    home: {
      ...means,
      client,
      caches,
      namespace: "fjord-system",
      identity: { id: "o" },
      recorder: { event() {} },
    } as unknown as Home,
    nodes: {
      get: (name) => nodes.find((node) => node.name === name),
      list: () => nodes,
      at: (site) => nodes.filter((node) => node.site === site),
      taken: () => [],
      ...nothing,
    },
    twins: {
      twinOf: () => "twin",
      originOf: () => "shop",
      namespacesAt: () => ["shop"],
      sitesOf: () => [SILENT, GOOD],
      ...nothing,
    },
    sites: { get: (id) => remotes.get(id), list: () => [...remotes.values()], ...nothing },
  });
  const watching = caches.run(stop.signal);
  await caches.waitForSync(stop.signal);
  const running = offloader.run(stop.signal, stop.signal);
  const until = async (what: string, holds: () => boolean) => {
    for (const deadline = Date.now() + 20_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 10)))
      assert.ok(Date.now() < deadline, what);
  };
  try {
    await until("as much as may be waits on the silent one", () => asked >= 16);
    home.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", namespace: "shop" },
      spec: { nodeName: `node-${GOOD}`, containers: [{ name: "main", image: "one" }] },
    } as never);
    await until("the pod is at the other one", () => good.list(ShadowPod).length === 1);
    assert.equal(asked, 16, "and no more waits on it than before");
  } finally {
    stop.abort();
    await Promise.all([running, watching]);
    for (const server of [home, silent, good]) await server[Symbol.asyncDispose]();
  }
});
