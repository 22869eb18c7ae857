// The controller in this process, at an API server of Kubernetes: what it does of itself, and not when its time has come.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Contract, VIRTUAL_NODE, VirtualNode } from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { CustomResourceDefinition, ifNotFound, KubeClient, Namespace, Node, SharedCaches } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import type { Home } from "../../home.ts";
import type { OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { KnownVirtualNodes } from "./known-virtual-nodes.ts";
import { eventually } from "./test-continuum.ts";
import { contractOf, virtualNodeOf } from "./test-objects.ts";
import { VirtualNodeController } from "./virtual-node-controller.ts";

describe("a virtual node that others change", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  const stop = new AbortController();
  let site: SharedTestSite;
  let client: KubeClient;
  let nodes: KnownVirtualNodes;
  let running: Promise<unknown>;
  /** What a Node waits for before it is made. */
  let gate = Promise.resolve();

  before(async () => {
    site = await sharedTestSite();
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    for (const definition of customResourceDefinitions())
      await client.apply(CustomResourceDefinition, definition, { fieldManager: "fjord-test" });
    for (const name of ["contracts.fjord.dev", "virtualnodes.fjord.dev"])
      for await (const { object } of client.watch(CustomResourceDefinition, {
        fieldSelector: `metadata.name=${name}`,
      })) {
        const conditions = "status" in object ? (object.status?.conditions ?? []) : [];
        if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
      }
    const namespace = "virtual-nodes";
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const means = { random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, clock: systemClock, client });
    // What waits for a time that has yet to come waits for good.
    const clock = new ManualClock(Date.now());
    const home = { ...means, clock, client: gated(client), caches, namespace, recorder: { event() {} } };
    const remote = { reachability: { reachable: true, since: 0, reason: "Dialled", message: "" } };
    nodes = new KnownVirtualNodes(caches);
    const controller = new VirtualNodeController({
      home: home as unknown as Home,
      remotes: { get: () => remote as RemoteSite, list: () => [], onChange: () => () => {} },
      nodes,
      pods: { onNode: () => [], onChange: () => () => {} } as unknown as OffloadedPods,
      address: "127.0.0.1",
      kubeletVersion: "v1.36.0",
      summary: () => Promise.reject(new Error("nobody asks for it")),
    });
    running = Promise.all([caches.run(stop.signal), controller.run(stop.signal)]);
    const { status, ...contract } = contractOf();
    await client.create(Contract, contract);
    await client.patch(Contract, { name: "c-1" }, "merge", { status }, { subresource: "status" });
  });
  after(async () => {
    stop.abort();
    await running;
    for (const { metadata } of (await client.list(VirtualNode)).items) {
      const key = { name: metadata.name ?? "" };
      await client.patch(VirtualNode, key, "merge", { metadata: { finalizers: null } });
      await client.delete(VirtualNode, key).catch(ifNotFound);
      await client.delete(Node, key).catch(ifNotFound);
    }
    await client.delete(Contract, { name: "c-1" });
    await client?.close();
  });

  function gated(of: KubeClient): KubeClient {
    const create = (async (kind, object, options) => {
      if (kind.kind === "Node") await gate;
      return of.create(kind, object, options);
    }) as KubeClient["create"];
    return new Proxy(of, {
      get: (target, property) => {
        const value = property === "create" ? create : Reflect.get(target, property, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  async function keep(name: string): Promise<void> {
    await client.create(VirtualNode, { ...virtualNodeOf(), metadata: { name } });
    await eventually("virtual node", async () => {
      const { metadata } = await client.get(Node, { name });
      return metadata.labels?.[VIRTUAL_NODE] === "true" && nodes.get(name) !== undefined;
    });
    await eventually("VirtualNode that is ready", async () => {
      const { status } = await client.get(VirtualNode, { name });
      return status?.conditions?.[0]?.status === "True";
    });
  }

  it("is known again at once where somebody has cleared its finalizers", async () => {
    await keep("cleared");
    const { uid } = (await client.get(Node, { name: "cleared" })).metadata;
    const heard: boolean[] = [];
    const release = nodes.onChange((name) => name === "cleared" && heard.push(nodes.get(name) !== undefined));
    await client.patch(VirtualNode, { name: "cleared" }, "merge", { metadata: { finalizers: null } });
    await eventually("VirtualNode that is not known, and then is", () => heard.includes(false) && heard.at(-1), 10_000);
    release();
    assert.equal((await client.get(Node, { name: "cleared" })).metadata.uid, uid);
  });

  it("gives its pods up at once to a machine that takes its name", async () => {
    await keep("claimed-here");
    const key = { name: "claimed-here" };
    const taken = Promise.withResolvers<void>();
    gate = taken.promise;
    await client.delete(Node, key);
    await client.create(Node, { apiVersion: "v1", kind: "Node", metadata: { ...key, labels: { own: "1" } } });
    taken.resolve();
    await eventually("VirtualNode that says so", () => nodes.taken().some(({ name }) => name === key.name), 10_000);
    assert.equal(nodes.get(key.name), undefined);
  });
});
