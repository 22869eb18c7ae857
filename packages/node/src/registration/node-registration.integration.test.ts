import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { seededRandom, silentLogger, sleep, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, Lease, Node } from "@fjord/kube";
import { Authority, siteFiles } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip, testedMinors } from "@fjord/testbed/testing";
import { healthyConditions, type NodeFacts, notReady } from "./node-facts.ts";
import { LEASE_NAMESPACE } from "./node-lease.ts";
import { forgeNode } from "./node-object.ts";
import { NodeRegistration, type NodeRegistrationOptions } from "./node-registration.ts";

// They wait for leases to end and for times to come, and do that together.
describe("a node", { concurrency: true }, () => {
  for (const kubernetes of testedMinors()) {
    describe(`of Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes), concurrency: 1 }, () =>
      tests(kubernetes),
    );
  }
});

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let admin: KubeClient;
  let count = 0;
  const clock = systemClock;

  before(async () => {
    site = await sharedTestSite({ kubernetes, components: "all" });
    admin = new KubeClient(site.config);
  });
  after(async () => {
    await admin?.close();
  });

  /** Controllers of a cluster that has just begun, on a machine with much to do, need more than a minute for some of it. */
  async function until<T>(condition: () => Promise<T | undefined | false>): Promise<T> {
    for (const end = clock.now() + 180_000; ; await sleep(clock, 50)) {
      const result = await condition().catch(() => undefined);
      if (result) return result;
      assert.ok(clock.now() < end, `not within three minutes: ${condition}`);
    }
  }

  /** With a node's own rights, and no more. */
  async function nodeClient(name: string): Promise<KubeClient> {
    const ca = await Authority.load(siteFiles(site.site.layout).pki, "ca");
    const request = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
    const { certificate: cert, key } = await ca.issue(request, clock.now());
    return new KubeClient(clusterConfig({ server: site.config.server, ca: site.config.tls.ca, cert, key }));
  }

  class Life implements AsyncDisposable {
    readonly name: string;
    facts: NodeFacts | undefined;
    readonly registration: NodeRegistration;
    readonly done: Promise<void>;
    readonly #client: KubeClient;
    readonly #stop = new AbortController();

    constructor(client: KubeClient, name: string, options: Partial<NodeRegistrationOptions> = {}, machine = "m") {
      this.#client = client;
      this.name = name;
      this.facts = options.facts === undefined ? facts(machine) : undefined;
      this.registration = new NodeRegistration({
        client,
        identity: { name, labels: { "kubernetes.io/hostname": name, "example.com/a": "1" }, machine },
        facts: () => this.facts,
        compareMs: 500,
        leaseRenewMs: 300,
        leaseSeconds: 2,
        clock,
        random: seededRandom(count),
        logger: silentLogger,
        ...options,
      });
      this.done = this.registration.run(this.#stop.signal);
      this.done.catch(() => {});
    }

    async [Symbol.asyncDispose](): Promise<void> {
      this.#stop.abort();
      await this.done.catch(() => {});
      await this.#client.close();
    }
  }

  function facts(machineID: string): NodeFacts {
    return {
      addresses: [
        { type: "InternalIP", address: "10.1.2.3" },
        { type: "InternalIP", address: "fd00::1" },
        { type: "Hostname", address: "n" },
      ],
      capacity: { cpu: "2", memory: "1048576Ki", pods: "110" },
      allocatable: { cpu: "1900m", memory: "1000000Ki", pods: "110" },
      conditions: healthyConditions(),
      nodeInfo: {
        architecture: "amd64",
        bootID: "b",
        containerRuntimeVersion: "fjord://1",
        kernelVersion: "6",
        kubeProxyVersion: "",
        kubeletVersion: "v1.36.0+fjord.0.1.0",
        machineID,
        operatingSystem: "linux",
        osImage: "Linux",
        systemUUID: "s",
      },
      kubeletPort: 10250,
    };
  }

  const newName = () => `n${++count}`;
  const find = (name: string) => admin.get(Node, { name });
  const conditionOf = (node: Node, type: string) => node.status?.conditions?.find((each) => each.type === type);

  test("registers with a node's rights, is Ready with a lease that moves, and gets a pod range", async () => {
    const name = newName();
    await using life = new Life(await nodeClient(name), name);
    const node = await life.registration.registered;
    assert.equal(conditionOf(node, "Ready")?.status, "True");
    const renewal = async () =>
      (await admin.get(Lease, { name, namespace: LEASE_NAMESPACE })).spec?.renewTime as string;
    const first = await until(renewal);
    await until(async () => (await renewal()) !== first);
    const lease = await admin.get(Lease, { name, namespace: LEASE_NAMESPACE });
    assert.equal(lease.metadata.ownerReferences?.[0]?.uid, node.metadata.uid);
    assert.equal(lease.spec?.holderIdentity, name);
    await until(async () => (await find(name)).spec?.podCIDR);
    // The node lifecycle controller takes its taint away from a node that lives.
    await until(async () => ((await find(name)).spec?.taints ?? []).length === 0);
  });

  /** What others may write about a node. */
  const writtenByOthers = {
    status: {
      capacity: { "example.com/dongle": "5" },
      conditions: [{ type: "Custom", status: "True", reason: "r", message: "m" }],
    },
  };

  test("keeps what others wrote, and takes back what is its own", async () => {
    const name = newName();
    await using life = new Life(await nodeClient(name), name);
    await life.registration.registered;
    await admin.patch(Node, { name }, "strategic", writtenByOthers, { subresource: "status" });
    await admin.patch(Node, { name }, "merge", {
      metadata: { labels: { "example.com/a": "2", "example.com/b": "1" } },
    });
    const node = await until(async () => {
      const found = await find(name);
      const allocatable = found.status?.allocatable?.["example.com/dongle"] !== undefined;
      return allocatable && found.metadata.labels?.["example.com/a"] === "1" && found;
    });
    assert.equal(node.metadata.labels?.["example.com/b"], "1");
    assert.equal(conditionOf(node, "Custom")?.status, "True");
  });

  test("says at once what changes, and leaves what others wrote", async () => {
    const name = newName();
    // It compares by itself only after this test: what is said before is said because it was told to.
    await using life = new Life(await nodeClient(name), name, { compareMs: 3_600_000, random: () => 0.5 });
    await life.registration.registered;
    await admin.patch(Node, { name }, "strategic", writtenByOthers, { subresource: "status" });
    life.facts = { ...facts("m"), conditions: [notReady("the runtime is away")] };
    life.registration.changed();
    const changed = await until(async () => {
      const found = await find(name);
      return conditionOf(found, "Ready")?.status === "False" && found;
    });
    assert.equal(conditionOf(changed, "Ready")?.message, "the runtime is away");
    assert.equal(conditionOf(changed, "Custom")?.status, "True");
    assert.equal(changed.status?.capacity?.["example.com/dongle"], "5");
    assert.equal(changed.status?.addresses?.length, 3);
  });

  for (const observe of [true, false]) {
    test(`registers again when it is deleted${observe ? "" : ", also where only the lease tells"}`, async () => {
      const name = newName();
      await using life = new Life(await nodeClient(name), name, { observe });
      const { metadata } = await life.registration.registered;
      await until(() => admin.get(Lease, { name, namespace: LEASE_NAMESPACE }));
      await admin.delete(Node, { name });
      const again = await until(async () => {
        const node = await find(name);
        return node.metadata.uid !== metadata.uid && node;
      });
      assert.equal(conditionOf(again, "Ready")?.status, "True");
      await until(async () => {
        const lease = await admin.get(Lease, { name, namespace: LEASE_NAMESPACE });
        return lease.metadata.ownerReferences?.[0]?.uid === again.metadata.uid;
      });
    });
  }

  test("says nothing of a machine that has taken the name of its Node meanwhile", { timeout: 60_000 }, async () => {
    const name = newName();
    const own = { identity: { name, labels: {}, isOwn: ({ status }: Node) => status?.nodeInfo?.machineID === "m" } };
    // Neither a look nor its lease tells it before it has something to say.
    const seldom = { observe: false, compareMs: 3_600_000, leaseRenewMs: 3_600_000 };
    await using life = new Life(new KubeClient(site.config), name, { ...own, ...seldom });
    await life.registration.registered;
    await admin.delete(Node, { name });
    const stranger = await admin.create(Node, forgeNode({ name, labels: {} }, facts("another machine"), clock.now()));
    life.facts = { ...facts("m"), conditions: [notReady("the runtime is away")] };
    life.registration.changed();
    await assert.rejects(life.done, { code: "NODE_NAME_TAKEN" });
    const { metadata, status } = await find(name);
    assert.equal(metadata.uid, stranger.metadata.uid);
    assert.equal(status?.nodeInfo?.machineID, "another machine");
    assert.equal(conditionOf({ metadata, status } as Node, "Ready")?.status, "True");
  });

  test("takes its Node over again after a restart, without touching its taints", async () => {
    const name = newName();
    const first = await (async () => {
      await using life = new Life(await nodeClient(name), name);
      return await life.registration.registered;
    })();
    const spec = { taints: [{ key: "keep", effect: "NoSchedule" }] };
    await admin.patch(Node, { name }, "merge", { spec });
    await using life = new Life(await nodeClient(name), name);
    const again = await life.registration.registered;
    assert.equal(again.metadata.uid, first.metadata.uid);
    assert.ok(again.spec?.taints?.some(({ key }) => key === "keep"));
    assert.equal(conditionOf(again, "Ready")?.lastTransitionTime, conditionOf(first, "Ready")?.lastTransitionTime);
  });

  test("says nothing before it knows: a node that is well does not look ill while it restarts", async () => {
    const name = newName();
    await (async () => {
      await using life = new Life(await nodeClient(name), name);
      await life.registration.registered;
    })();
    let known: NodeFacts | undefined;
    const seen: unknown[] = [];
    await using life = new Life(await nodeClient(name), name, { facts: () => known });
    life.registration.onNode((node) => seen.push(conditionOf(node, "Ready")?.status));
    await sleep(clock, 300);
    assert.deepEqual(seen, []);
    known = facts("m");
    life.registration.changed();
    await life.registration.registered;
    assert.ok(seen.length > 0 && seen.every((status) => status === "True"));
  });

  test("refuses the name of another machine that lives, and takes that of one that is gone", async () => {
    const name = newName();
    await (async () => {
      await using first = new Life(await nodeClient(name), name);
      await first.registration.registered;
      await until(() => admin.get(Lease, { name, namespace: LEASE_NAMESPACE }));
      // It looks for longer than this process, which is the first one's too, may stand still.
      await using second = new Life(await nodeClient(name), name, { leaseSeconds: 20 }, "another machine");
      await assert.rejects(second.done, { code: "NODE_NAME_TAKEN" });
    })();
    await using heir = new Life(await nodeClient(name), name, {}, "another machine");
    const node = await heir.registration.registered;
    assert.equal(node.metadata.annotations?.["fjord.dev/machine"], "another machine");
  });

  test("goes on by itself after the API server was killed", async () => {
    const name = newName();
    await using life = new Life(await nodeClient(name), name);
    await life.registration.registered;
    await site.site.process("kube-apiserver").kill();
    life.facts = { ...facts("m"), conditions: [notReady("while it was away")] };
    life.registration.changed();
    await site.site.start({ timeout: 60_000 });
    await until(async () => conditionOf(await find(name), "Ready")?.message === "while it was away");
  });
}
