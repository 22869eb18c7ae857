import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import {
  Contract,
  newObject,
  OFFLOADED_LABEL,
  Offloading,
  Peering,
  TwinNamespace,
  tenantNamespace,
  VIRTUAL_NODE,
} from "@fjord/api";
import { ConfigMap, Deployment, Event, isNotFound, type KubeClient, Namespace, Node, Pod } from "@fjord/kube";
import { Continuum, fjord } from "@fjord/testbed/agents";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { eventually } from "./test-eventually.ts";

describe("an Offloading", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let continuum: Continuum;
  let home: KubeClient;
  let there: KubeClient;
  let provider = "";
  let consumer = "";

  before(async () => {
    continuum = new Continuum(await startTestBed({ sites: 2, simulatedNodes: 1 }));
    await continuum.startAgents();
    home = continuum.client("site-1");
    there = continuum.client("site-2");
    await continuum.share("site-2");
    await peer();
  });

  after(async () => {
    await Promise.all([home?.close(), there?.close()]);
    await continuum?.[Symbol.asyncDispose]();
  });

  const peer = async () => {
    await continuum.peer("site-1", "site-2");
    const labelSelector = "fjord.dev/virtual-node";
    await eventually(async () => (await home.list(Node, { labelSelector })).items.length === 1);
    const [contract] = (await home.list(Contract)).items;
    ({ provider, consumer } = contract?.spec.terms ?? { provider: "", consumer: "" });
  };
  const offload = (namespace: string, spec: Partial<Offloading["spec"]> = {}) =>
    home.create(Offloading, newObject(Offloading, { metadata: { name: "offloading", namespace }, spec }));
  const add = async (name: string, spec: Partial<Offloading["spec"]> = {}) => {
    await home.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await offload(name, spec);
  };
  const get = (namespace: string) => unlessMissing(home.get(Offloading, { name: "offloading", namespace }));
  const reason = async (namespace: string) => (await get(namespace))?.status?.sites?.[0]?.conditions?.[0]?.reason;
  const isReady = async (namespace: string) => (await reason(namespace)) === "TwinReady";
  const twin = (name: string) => unlessMissing(there.get(Namespace, { name }));
  const request = (name: string) =>
    unlessMissing(there.get(TwinNamespace, { name, namespace: tenantNamespace(consumer) }));
  const remove = (namespace: string) => home.delete(Offloading, { name: "offloading", namespace });
  const isLabelled = async (name: string) => {
    const { metadata } = await home.get(Namespace, { name });
    return metadata.labels?.[OFFLOADED_LABEL] === "true";
  };
  const runPod = async (namespace: string) => {
    const spec = { containers: [{ name: "main", image: "busybox" }], terminationGracePeriodSeconds: 0 };
    const metadata = { name: "web", namespace };
    await eventually(async () => {
      await home.create(Pod, { apiVersion: "v1", kind: "Pod", metadata, spec });
      return true;
    });
    await eventually(async () => (await home.get(Pod, metadata)).status?.phase === "Running");
  };

  // Kubernetes takes five seconds to remove a namespace: these wait for theirs together.
  describe("while its sites are there", { concurrency: true }, () => {
    it("names its twins as it is told, and says which names a provider does not give", async () => {
      const long = `a${"long".repeat(15)}`;
      await there.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "foreign" } });
      await Promise.all([
        add("shop"),
        add("same", { naming: { strategy: "Same" } }),
        add("chosen", { naming: { strategy: "Chosen", name: "theirs" } }),
        add(long),
        add("taken", { naming: { strategy: "Chosen", name: "foreign" } }),
        add("refused", { naming: { strategy: "Chosen", name: "kube-system" } }),
      ]);
      for (const each of ["shop", "same", "chosen", long]) await eventually(() => isReady(each));
      for (const each of [`shop-${consumer}`, "same", "theirs"]) assert.ok(await twin(each), each);
      const [site] = (await get(long))?.status?.sites ?? [];
      assert.equal(site?.site, provider);
      assert.ok((site?.twin?.length ?? 0) <= 63 && site?.twin?.endsWith(`-${consumer}`));
      await eventually(async () => (await reason("taken")) === "NameTaken");
      await eventually(async () => (await reason("refused")) === "NameRefused");
      assert.equal((await twin("foreign"))?.metadata.labels?.["fjord.dev/consumer"], undefined);
      for (const each of ["taken", "refused", "same", "shop", long]) await remove(each);
      for (const each of ["taken", "refused", "same", "shop", long])
        await eventually(async () => (await get(each)) === undefined);
      assert.ok(await twin("foreign"));
      assert.equal((await twin("foreign"))?.metadata.deletionTimestamp, undefined);
    });

    it("is refused in a namespace of the system, whose pods ask no agent", async () => {
      await assert.rejects(offload("kube-system"), /namespace kube-system stays at home/);
      assert.equal(await get("kube-system"), undefined);
      assert.equal(await isLabelled("kube-system"), false);
    });

    it("brings everything home when it is deleted, and can be made again at once", async () => {
      await add("again", { pods: "Remote" });
      await eventually(() => isReady("again"));
      const first = (await twin(`again-${consumer}`))?.metadata.uid;
      await runPod("again");
      await remove("again");
      await eventually(async () => {
        await offload("again");
        return true;
      });
      await eventually(() => isReady("again"));
      const second = await twin(`again-${consumer}`);
      assert.ok(second !== undefined && second.metadata.uid !== first);
      assert.ok(await isLabelled("again"));
      await remove("again");
      await eventually(
        async () => (await get("again")) === undefined && (await twin(`again-${consumer}`)) === undefined,
      );
      assert.equal(await isLabelled("again"), false);
    });

    it("has pods that waited for a node told when it goes, and those fail that a virtual node gets after it", async () => {
      await add("late", { pods: "Remote" });
      await eventually(() => isReady("late"));
      const containers = [{ name: "main", image: "busybox" }];
      const key = { name: "bare", namespace: "late" };
      const gate = "example.com/later";
      const gated = { containers, schedulingGates: [{ name: gate }] };
      await home.create(Pod, { apiVersion: "v1", kind: "Pod", metadata: key, spec: gated });
      const labels = { app: "made" };
      const template = { metadata: { labels }, spec: gated };
      const spec = { replicas: 1, selector: { matchLabels: labels }, template };
      const metadata = { name: "made", namespace: "late" };
      await home.create(Deployment, { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
      const made = async () => (await home.list(Pod, { namespace: "late", labelSelector: "app=made" })).items;
      const mayLeave = ({ spec }: Pod) => spec?.tolerations?.some((each) => each.key === VIRTUAL_NODE) === true;
      await eventually(async () => (await made()).some(mayLeave));
      await remove("late");
      await eventually(async () => (await get("late")) === undefined);
      await eventually(async () => (await made()).some((pod) => !mayLeave(pod)) && !(await made()).some(mayLeave));
      const events = async () => (await home.list(Event, { namespace: "late" })).items;
      await eventually(async () => (await events()).some(({ reason, note }) => isRecall(reason, note)));
      assert.equal((await home.get(Pod, key)).status?.phase, "Pending");
      await home.patch(Pod, key, "merge", { spec: { schedulingGates: null } });
      await eventually(async () => (await home.get(Pod, key)).status?.phase === "Failed");
      const { status, spec: landed } = await home.get(Pod, key);
      assert.equal(status?.reason, "NotOffloaded");
      assert.match(status?.message ?? "", /namespace late is not offloaded, and node site-2 runs nothing of it/);
      assert.equal(landed?.nodeName, "site-2");
    });

    it("stays until pods that were still on their way to the API server have been looked at", async () => {
      await add("busy", { sites: { matchLabels: { zone: "nowhere" } } });
      await eventually(() => isLabelled("busy"));
      await eventually(async () => (await get("busy"))?.metadata.finalizers?.length === 1);
      const owner = { name: "maker", namespace: "busy" };
      const { metadata } = await home.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: owner });
      await remove("busy");
      await eventually(async () => !(await isLabelled("busy")));
      const key = { name: "late", namespace: "busy" };
      const ownerReferences = [
        { apiVersion: "v1", kind: "ConfigMap", name: "maker", uid: metadata.uid ?? "", controller: true },
      ];
      const tolerations = [{ key: VIRTUAL_NODE, operator: "Exists" as const }];
      const spec = { containers: [{ name: "main", image: "busybox" }], tolerations };
      const schedulingGates = [{ name: "example.com/later" }];
      const made = { metadata: { ...key, ownerReferences }, spec: { ...spec, schedulingGates } };
      await home.create(Pod, { apiVersion: "v1", kind: "Pod", ...made });
      await eventually(async () => (await get("busy")) === undefined);
      const pod = await unlessMissing(home.get(Pod, key));
      assert.ok(pod === undefined || pod.metadata.deletionTimestamp !== undefined);
    });

    it("goes with its namespace, and its twin too", async () => {
      await add("doomed");
      await eventually(() => isReady("doomed"));
      await home.delete(Namespace, { name: "doomed" });
      await eventually(async () => (await get("doomed")) === undefined);
      await eventually(async () => (await twin(`doomed-${consumer}`)) === undefined);
    });

    it("evicts nothing when it selects less: a twin goes with the last pod there", async () => {
      await add("narrow", { pods: "Remote" });
      await runPod("narrow");
      const patch = { spec: { sites: { matchLabels: { nowhere: "true" } } } };
      await home.patch(Offloading, { name: "offloading", namespace: "narrow" }, "merge", patch);
      const noSite = async () => (await get("narrow"))?.status?.conditions?.[0]?.reason === "NoSiteEligible";
      await eventually(noSite);
      // Pods there still need their twin, and a provider that does not answer for a moment is away for no longer.
      await eventually(() => isReady("narrow"));
      assert.equal((await twin(`narrow-${consumer}`))?.metadata.deletionTimestamp, undefined);
      assert.equal((await home.get(Pod, { name: "web", namespace: "narrow" })).metadata.deletionTimestamp, undefined);
      await home.delete(Pod, { name: "web", namespace: "narrow" });
      await eventually(async () => (await twin(`narrow-${consumer}`)) === undefined);
      await eventually(async () => (await get("narrow"))?.status?.sites?.length === 0);
      await remove("narrow");
      await eventually(async () => (await get("narrow")) === undefined);
    });
  });

  it("keeps a twin, with the volumes in it, where somebody deletes the site's Node, or takes or changes its labels", async () => {
    const [peering] = (await home.list(Peering)).items;
    const label = (rack: string | null) =>
      home.patch(Peering, { name: peering?.metadata.name ?? "" }, "merge", {
        spec: { virtualNode: { labels: { rack } } },
      });
    await label("7");
    await add("kept", { sites: { matchLabels: { rack: "7" } } });
    await eventually(() => isReady("kept"));
    const standing = async () => [await request("kept"), await twin(`kept-${consumer}`)].map((each) => each?.metadata);
    const before = (await standing()).map((each) => each?.uid);
    const nodes = async () => (await home.list(Node, { labelSelector: VIRTUAL_NODE })).items;
    const [first] = await nodes();
    const key = { name: first?.metadata.name ?? "" };
    await home.delete(Node, key);
    await eventually(async () => (await nodes()).some(({ metadata }) => metadata.uid !== first?.metadata.uid));
    await home.patch(Node, key, "merge", { metadata: { labels: { [VIRTUAL_NODE]: null } } });
    await eventually(async () => (await nodes()).length === 1);
    for (const rack of [null, "8"]) {
      await home.patch(Node, key, "merge", { metadata: { labels: { rack } } });
      await eventually(async () => (await nodes())[0]?.metadata.labels?.rack === "7");
    }
    // What has been asked for until now has been heard of by then.
    await add("after");
    await eventually(() => isReady("after"));
    assert.deepEqual(
      (await standing()).map((each) => [each?.uid, each?.deletionTimestamp]),
      before.map((uid) => [uid, undefined]),
    );
    // Whose node it is says so: nobody has done anything to the Node.
    await label("8");
    await eventually(async () => (await get("kept"))?.status?.sites?.length === 0);
    assert.equal(await request("kept"), undefined);
    await label(null);
    for (const namespace of ["kept", "after"]) await remove(namespace);
    for (const namespace of ["kept", "after"]) await eventually(async () => (await get(namespace)) === undefined);
  });

  it("waits for a site that is away to remove its twin, and finishes when it is back", async () => {
    await add("away");
    await eventually(() => isReady("away"));
    await continuum.bed.cut("site-1", "site-2");
    await eventually(async () => (await reason("away")) === "SiteUnreachable");
    await remove("away");
    await eventually(async () => (await reason("away")) === "Removing");
    assert.ok(await twin(`away-${consumer}`));
    await continuum.bed.heal("site-1", "site-2");
    await eventually(async () => (await get("away")) === undefined);
    await eventually(async () => (await request("away")) === undefined);
  });

  it("forgets a site without a contract at once, and does not go on asking there", async () => {
    await add("ended");
    await eventually(() => isReady("ended"));
    await fjord(continuum.site("site-1"), "unpeer", "site-2");
    await eventually(async () => (await get("ended"))?.status?.sites?.length === 0);
    await eventually(async () => (await twin(`ended-${consumer}`)) === undefined);
    const refusals = async () => {
      const log = await readFile(continuum.agent("site-1").process.record.log, "utf8");
      return log.split("\n").filter((line) => line.includes("twinnamespaces") && line.includes("403")).length;
    };
    assert.ok((await refusals()) <= 5, `${await refusals()} refusals`);
    await remove("ended");
    await eventually(async () => (await get("ended")) === undefined);
  });

  it("waits for no site that is given up by force", async () => {
    await peer();
    await add("forced");
    await eventually(() => isReady("forced"));
    await continuum.bed.cut("site-1", "site-2");
    await remove("forced");
    await fjord(continuum.site("site-1"), "unpeer", "site-2", "--force");
    await eventually(async () => (await get("forced")) === undefined);
  });
});

function isRecall(reason: string | undefined, note: string | undefined): boolean {
  return reason === "NotOffloaded" && /no longer offloaded/.test(note ?? "");
}

async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
