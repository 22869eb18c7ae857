import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newObject, OFFLOADED_LABEL, Offloading, VIRTUAL_NODE } from "@fjord/api";
import {
  DaemonSet,
  Deployment,
  isForbidden,
  isInvalid,
  type KubeClient,
  Lease,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
  Pod,
} from "@fjord/kube";
import { agentReady, Continuum } from "@fjord/testbed/agents";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { eventually } from "../namespace/test-eventually.ts";

const VIRTUAL = "far";
const containers = [{ name: "main", image: "busybox" }];

describe("pods on a cluster with a virtual node", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let continuum: Continuum;
  let client: KubeClient;
  let beat: NodeJS.Timeout;

  before(async () => {
    continuum = new Continuum(await startTestBed({ sites: 1, simulatedNodes: 1 }));
    await continuum.startAgents();
    client = continuum.client("site-1");
    const resources = { cpu: "16", memory: "64Gi", pods: "500" };
    await client.create(Node, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: VIRTUAL, labels: { [VIRTUAL_NODE]: "true" } },
      spec: { taints: [{ key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" }] },
      status: { capacity: resources, allocatable: resources, conditions: [ready("True")] },
    } as Node);
    // Without it the control plane would take the node for lost before a slow machine is done here.
    await client.create(Lease, lease());
    beat = setInterval(() => void client.patch(Lease, lease().metadata, "merge", lease()).catch(() => {}), 5_000);
  });

  after(async () => {
    clearInterval(beat);
    await client?.close();
    await continuum?.[Symbol.asyncDispose]();
  });

  const addNamespace = (name: string) =>
    client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const offload = (namespace: string, spec: Partial<Offloading["spec"]>) =>
    client.create(Offloading, newObject(Offloading, { metadata: { name: "offloading", namespace }, spec }));
  /** Service accounts come a moment after their namespace. */
  const addPod = (namespace: string) =>
    eventually(async () => {
      const metadata = { name: "web", namespace };
      await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } });
      return true;
    });
  const nodeOf = async (namespace: string) => (await client.get(Pod, { name: "web", namespace })).spec?.nodeName;

  it("are there where they must be, and nowhere else where they must not", async () => {
    await Promise.all(["local", "remote", "plain"].map(addNamespace));
    await offload("local", { pods: "Local" });
    await offload("remote", { pods: "Remote" });
    await Promise.all(["local", "remote", "plain"].map(addPod));
    await eventually(async () => (await nodeOf("remote")) === VIRTUAL);
    for (const each of ["local", "plain"]) {
      await eventually(async () => (await nodeOf(each)) !== undefined);
      assert.notEqual(await nodeOf(each), VIRTUAL, each);
    }
  });

  it("may have their tolerations changed by owners who know nothing of admission", async () => {
    const key = { name: "web", namespace: "remote" };
    const own = { key: "example.com/mine", operator: "Exists" as const, effect: "NoSchedule" as const };
    await client.patch(Pod, key, "merge", { spec: { tolerations: [own] } });
    const { tolerations = [] } = (await client.get(Pod, key)).spec ?? {};
    assert.deepEqual(
      tolerations.map(({ key: each }) => each).filter((each) => !each?.startsWith("node.kubernetes.io/")),
      [own.key, VIRTUAL_NODE],
    );
  });

  it("are there for a DaemonSet only where it names virtual nodes", async () => {
    const add = (name: string, tolerations: object[]) => {
      const labels = { app: name };
      const template = { metadata: { labels }, spec: { containers, tolerations } };
      const metadata = { name, namespace: "plain" };
      return client.create(DaemonSet, {
        apiVersion: "apps/v1",
        kind: "DaemonSet",
        metadata,
        spec: { selector: { matchLabels: labels }, template },
      } as DaemonSet);
    };
    const wanted = async (name: string) => {
      const { status, metadata } = await client.get(DaemonSet, { name, namespace: "plain" });
      return status?.observedGeneration === metadata.generation ? status?.desiredNumberScheduled : undefined;
    };
    await add("everywhere", [{ operator: "Exists" }]);
    await add("asks", [{ key: VIRTUAL_NODE, operator: "Exists" }]);
    await eventually(async () => (await wanted("asks")) === 2);
    await eventually(async () => (await wanted("everywhere")) === 1);
    const template = { spec: { template: { spec: { affinity: null } } } };
    await client.patch(DaemonSet, { name: "everywhere", namespace: "plain" }, "merge", template);
    await eventually(async () => (await wanted("everywhere")) === 1);
  });

  it("go on being made while the agent is away, except where it must be asked; what slipped through is made right", async () => {
    const agent = continuum.agent("site-1");
    await agent.process.stop();
    await addNamespace("young");
    await offload("young", { pods: "Remote" });
    const labels = { app: "web" };
    await client.create(Deployment, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "young" },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        // Nothing here has the room: they are pending when the agent is back.
        template: {
          metadata: { labels },
          spec: { containers: [{ ...containers[0], resources: { requests: { cpu: "100k" } } }] },
        },
      },
    } as unknown as Deployment);
    const pods = async () => (await client.list(Pod, { namespace: "young" })).items;
    await eventually(async () => (await pods()).length === 2);
    const refused = client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "late", namespace: "remote" },
      spec: { containers },
    });
    await assert.rejects(refused, (error: Error) => !isForbidden(error) && /pods\.fjord\.dev/.test(error.message));
    await agent.process.start();
    await agentReady(agent);
    const isRemote = ({ spec }: Pod) => spec?.tolerations?.some(({ key }) => key === VIRTUAL_NODE) ?? false;
    const isRight = eventually(async () => (await pods()).length === 2 && (await pods()).every(isRemote));
    await isRight.catch((cause: unknown) => {
      throw new Error(`the agent, running: ${agent.process.running}, said:\n${agent.process.logTail(20)}`, { cause });
    });
  });

  it("keep being asked about when somebody spoils the configuration", async () => {
    const key = { name: "fjord" };
    const { webhooks = [], metadata } = await client.get(MutatingWebhookConfiguration, key);
    await client.patch(MutatingWebhookConfiguration, key, "merge", { webhooks: webhooks.slice(1) });
    await eventually(async () => {
      const found = await client.get(MutatingWebhookConfiguration, key);
      return found.webhooks?.length === webhooks.length;
    });
    await client.delete(MutatingWebhookConfiguration, key);
    await eventually(async () => (await client.get(MutatingWebhookConfiguration, key)).metadata.uid !== metadata.uid);
    // The API server learns of it by watching: from then on it asks again.
    await eventually(async () => {
      const pod: Pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "asked", namespace: "remote" },
        spec: { containers },
      };
      const { spec } = await client.create(Pod, pod, { dryRun: true });
      return spec?.tolerations?.some(({ key: each }) => each === VIRTUAL_NODE) ?? false;
    });
  });

  it("are asked about from the moment the agent says that it is ready", async () => {
    const agent = continuum.agent("site-1");
    await agent.process.stop();
    await client.delete(MutatingWebhookConfiguration, { name: "fjord" });
    await agent.process.start();
    await agentReady(agent);
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "first", namespace: "remote" },
      spec: { containers },
    };
    const { spec } = await client.create(Pod, pod, { dryRun: true });
    assert.ok(spec?.tolerations?.some(({ key }) => key === VIRTUAL_NODE));
  });

  it("are not asked about any more where an Offloading was admitted, and refused by its schema", async () => {
    await addNamespace("refused");
    const naming = { strategy: "Nonsense" } as unknown as Offloading["spec"]["naming"];
    await assert.rejects(offload("refused", { naming }), isInvalid);
    const label = async () => (await client.get(Namespace, { name: "refused" })).metadata.labels?.[OFFLOADED_LABEL];
    assert.equal(await label(), "true");
    // Longer than admission believes in what has not come.
    await eventually(async () => (await label()) === undefined, 30_000);
  });

  it("leave a node that is away after as long as their Offloading says, or stay", async () => {
    await Promise.all(["evicted", "kept"].map(addNamespace));
    await offload("evicted", { pods: "Remote", whenUnreachable: { action: "Evict", after: "2s" } });
    await offload("kept", { pods: "Remote", whenUnreachable: { action: "Keep" } });
    await Promise.all(["evicted", "kept"].map(addPod));
    for (const each of ["evicted", "kept"]) await eventually(async () => (await nodeOf(each)) === VIRTUAL);
    const isLeaving = async (namespace: string) =>
      (await client.get(Pod, { name: "web", namespace })).metadata.deletionTimestamp !== undefined;
    assert.equal(await isLeaving("evicted"), false);
    const status = { status: { conditions: [ready("False")] } };
    await client.patch(Node, { name: VIRTUAL }, "strategic", status, { subresource: "status" });
    await eventually(async () => await isLeaving("evicted"));
    assert.equal(await isLeaving("kept"), false);
    const { spec } = await client.get(Pod, { name: "web", namespace: "kept" });
    const away = spec?.tolerations?.filter(({ effect }) => effect === "NoExecute") ?? [];
    assert.deepEqual(
      away.map(({ tolerationSeconds }) => tolerationSeconds),
      [undefined, undefined],
    );
  });
});

function lease() {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: VIRTUAL, leaseDurationSeconds: 40, renewTime };
  const metadata = { name: VIRTUAL, namespace: "kube-node-lease" };
  return { apiVersion: "coordination.k8s.io/v1" as const, kind: "Lease" as const, metadata, spec };
}

function ready(status: "True" | "False") {
  const now = new Date().toISOString().replace(/\.\d+/, "");
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  return { type: "Ready", status, reason: "Test", message: "", ...times };
}
