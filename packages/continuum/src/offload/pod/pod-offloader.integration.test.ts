import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL, ORIGIN_UID_LABEL, ShadowPod } from "@fjord/api";
import { systemClock } from "@fjord/base";
import { CoreEvent, Node, Pod, Secret } from "@fjord/kube";
import { isTerminal } from "@fjord/node/pod-status";
import { kubernetesSkip } from "@fjord/testbed/testing";
import type { OffloadedPod } from "../../offloaded-pods.ts";
import { eventually } from "../namespace/test-eventually.ts";
import type { PodOffloader } from "./pod-offloader.ts";
import { OFFLOADED_CONDITION } from "./status/index.ts";
import { CONSUMER, isReady, newPod, type PodBed, PROVIDER, SHOP, startPodBed, TWIN, until } from "./test-pod-bed.ts";

const main = { name: "main", image: "busybox:1" };
const home = (name: string) => ({ name, namespace: SHOP });
const away = (name: string) => ({ name, namespace: TWIN });
const condition = (pod: Pod | undefined) => pod?.status?.conditions?.find(({ type }) => type === OFFLOADED_CONDITION);

describe("a pod on a virtual node", { skip: kubernetesSkip(), timeout: 180_000 }, () => {
  let bed: PodBed;
  before(async () => {
    const logger = process.env.FJORD_LOG ? console : undefined;
    bed = await startPodBed({ ...(logger && { logger }) });
    bed.begin("guests");
    bed.begin("offloader");
  });
  after(() => bed?.[Symbol.asyncDispose]());

  const run = async (pod: Pod): Promise<Pod> => {
    await bed.consumer.create(Pod, pod);
    return (await until<Pod>(bed.consumer, Pod, home(pod.metadata.name ?? ""), isReady)) as Pod;
  };
  const remove = async (...names: string[]): Promise<void> => {
    const { consumer, provider } = bed;
    const isGone = (object: unknown) => object === undefined;
    const ended: string[] = [];
    for (const name of names) {
      // A pod that has ended is deleted by the API server at once, and what is left of it elsewhere goes after it.
      const { status } = await consumer.get(Pod, home(name));
      if (status?.phase === "Failed" || status?.phase === "Succeeded") ended.push(name);
    }
    await Promise.all(names.map((name) => consumer.delete(Pod, home(name))));
    await Promise.all(names.map((name) => until<Pod>(consumer, Pod, home(name), isGone)));
    for (const name of ended) {
      await until<ShadowPod>(provider, ShadowPod, away(name), isGone);
      await until<Pod>(provider, Pod, away(name), isGone);
    }
    const shadows = (await provider.list(ShadowPod, { namespace: TWIN })).items;
    const guests = (await provider.list(Pod, { namespace: TWIN })).items;
    const left = [...shadows, ...guests].filter(({ metadata }) => names.includes(metadata.name ?? ""));
    assert.deepEqual(left, []);
  };

  it("runs at the provider, is told of as if it ran here, and is gone here once nothing of it is left there", async () => {
    const { provider } = bed;
    const ready = await run(newPod("web"));
    assert.equal(ready.status?.phase, "Running");
    assert.equal(ready.status?.hostIP, "10.9.9.9");
    const guest = await provider.get(Pod, away("web"));
    assert.equal(guest.metadata.labels?.[CONSUMER_LABEL], CONSUMER);
    assert.equal(guest.metadata.labels?.[ORIGIN_UID_LABEL], ready.metadata.uid);
    assert.equal(ready.status?.podIP, guest.status?.podIP);
    assert.ok(!JSON.stringify(ready.status).includes(guest.spec?.nodeName ?? "?"));
    await remove("web");
  });

  it("takes labels, annotations, images, deadlines and ephemeral containers along when they change", async () => {
    const { consumer, provider } = bed;
    await run(newPod("changing"));
    const patch = {
      metadata: { labels: { app: null, tier: "back" }, annotations: { note: "new" } },
      spec: { activeDeadlineSeconds: 5000, containers: [{ name: "main", image: "busybox:2" }] },
    };
    await consumer.patch(Pod, home("changing"), "strategic", patch);
    const changed = await until<Pod>(
      provider,
      Pod,
      away("changing"),
      (pod) => pod?.spec?.containers[0]?.image === "busybox:2" && pod.metadata.labels?.tier === "back",
    );
    assert.equal(changed?.metadata.labels?.app, undefined);
    assert.equal(changed?.metadata.annotations?.note, "new");
    assert.equal(changed?.spec?.activeDeadlineSeconds, 5000);
    const debug = { spec: { ephemeralContainers: [{ name: "debug", image: "busybox:1" }] } };
    await consumer.patch(Pod, home("changing"), "strategic", debug, { subresource: "ephemeralcontainers" });
    await until<Pod>(provider, Pod, away("changing"), (pod) => pod?.spec?.ephemeralContainers?.length === 1);
    await remove("changing");
  });

  it("waits for room in its contract, says so, and runs once there is some", async () => {
    const { consumer, contracts } = bed;
    contracts.set({ resources: { cpu: "1", pods: 100 } });
    const asking = { containers: [{ ...main, resources: { requests: { cpu: "600m" } } }] };
    await run(newPod("first", asking));
    await consumer.create(Pod, newPod("second", asking));
    const waiting = await until<Pod>(consumer, Pod, home("second"), (pod) => condition(pod)?.status === "False");
    assert.equal(condition(waiting)?.reason, "AmountExceeded");
    assert.equal(waiting?.status?.phase, "Pending");
    await remove("first");
    const running = await until<Pod>(consumer, Pod, home("second"), isReady);
    assert.equal(condition(running)?.status, "True");
    contracts.set({});
    await remove("second");
    const isTold = async () => {
      const { items } = await consumer.list(CoreEvent, { namespace: SHOP });
      return items.some(
        ({ reason, involvedObject }) => reason === "AmountExceeded" && involvedObject.name === "second",
      );
    };
    await eventually(isTold);
  });

  it("is given no more room than there is, however many come at once", async () => {
    const { consumer, provider, contracts } = bed;
    contracts.set({ resources: { cpu: "1", pods: 100 } });
    const asking = { containers: [{ ...main, resources: { requests: { cpu: "300m" } } }] };
    const names = Array.from({ length: 12 }, (_, i) => `crowd-${i}`);
    await Promise.all(names.map((name) => consumer.create(Pod, newPod(name, asking))));
    const decided = await Promise.all(
      names.map((name) =>
        until<Pod>(consumer, Pod, home(name), (pod) => isReady(pod) || condition(pod)?.status === "False"),
      ),
    );
    assert.equal(decided.filter(isReady).length, 3);
    const guests = (await provider.list(Pod, { namespace: TWIN })).items;
    assert.equal(guests.filter(({ metadata }) => metadata.name?.startsWith("crowd")).length, 3);
    contracts.set({});
    await remove(...names);
  });

  it("is told of by a hostile provider as far as a node could, and nothing else at home changes", async () => {
    const { consumer, provider } = bed;
    const before = await run(newPod("victim"));
    const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
    const told = (name: string) => ({ ...main, name, imageID: "", ready: true, restartCount: 7, state: running });
    const status = {
      podIP: "127.0.0.1",
      podIPs: [{ ip: "127.0.0.1" }],
      hostIP: "192.0.2.1",
      hostIPs: [{ ip: "192.0.2.1" }],
      message: `\u001b[2J${"long ".repeat(20_000)}`,
      conditions: [
        { type: "Ready", status: "False", reason: "Hostile", message: "" },
        { type: "PodScheduled", status: "False", reason: "Hostile", message: "" },
        { type: "example.com/crowned", status: "True", reason: "Hostile", message: "" },
      ],
      containerStatuses: [told("main"), told("spy")],
    };
    const labels = { app: "another", "example.com/crowned": "true" };
    await provider.patch(Pod, away("victim"), "merge", { metadata: { labels, annotations: labels } });
    await provider.patch(Pod, away("victim"), "merge", { status }, { subresource: "status" });
    const after = await until<Pod>(
      consumer,
      Pod,
      home("victim"),
      (pod) => pod?.status?.containerStatuses?.[0]?.restartCount === 7,
    );
    const { podIP, hostIP, message, conditions, containerStatuses } = after?.status ?? {};
    assert.equal(hostIP, "10.9.9.9");
    assert.notEqual(podIP, "127.0.0.1");
    assert.deepEqual(
      containerStatuses?.map(({ name }) => name),
      ["main"],
    );
    assert.ok((message ?? "").length <= 1_024 && !(message ?? "").includes("\u001b"), message);
    const types = (pod: Pod | undefined) => pod?.status?.conditions?.map(({ type }) => type).sort();
    assert.deepEqual(types(after), types(before));
    assert.equal(conditions?.find(({ type }) => type === "PodScheduled")?.status, "True");
    const { labels: own, annotations, finalizers, ownerReferences } = before.metadata;
    const { metadata } = after ?? {};
    assert.deepEqual(
      [metadata?.labels, metadata?.annotations, metadata?.finalizers, metadata?.ownerReferences, after?.spec],
      [own, annotations, finalizers, ownerReferences, before.spec],
    );
    await remove("victim");
  });

  it("is made again when the provider loses it, and that shows as a restart", async () => {
    const { consumer, provider } = bed;
    await run(newPod("lost"));
    const first = await provider.get(Pod, away("lost"));
    await provider.delete(Pod, away("lost"));
    await until<Pod>(
      provider,
      Pod,
      away("lost"),
      (pod) => pod !== undefined && pod.metadata.uid !== first.metadata.uid,
    );
    const again = await until<Pod>(
      consumer,
      Pod,
      home("lost"),
      (pod) => isReady(pod) && pod?.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    assert.equal(again?.status?.phase, "Running");
    await remove("lost");
  });

  it("is heard of again where somebody at the provider takes its label away, or changes it", async () => {
    const { consumer, provider } = bed;
    const before = await run(newPod("unlabelled"));
    for (const label of [null, "another"]) {
      await provider.patch(ShadowPod, away("unlabelled"), "merge", {
        metadata: { labels: { [CONSUMER_LABEL]: label } },
      });
      await until<ShadowPod>(
        provider,
        ShadowPod,
        away("unlabelled"),
        (shadow) => shadow?.metadata.labels?.[CONSUMER_LABEL] === CONSUMER,
      );
    }
    // What becomes of it is told at home as ever.
    await provider.delete(Pod, away("unlabelled"), { gracePeriodSeconds: 0 });
    const again = await until<Pod>(
      consumer,
      Pod,
      home("unlabelled"),
      (pod) => isReady(pod) && (pod?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
    );
    assert.equal(again?.metadata.uid, before.metadata.uid);
    await remove("unlabelled");
  });

  it("has not ended where the provider takes its guest from a node, which says that it has", async () => {
    const { consumer, provider } = bed;
    const { metadata: before } = await run(newPod("moved"));
    const first = await provider.get(Pod, away("moved"));
    // For as long as it takes to look.
    await provider.patch(Pod, away("moved"), "merge", { metadata: { finalizers: ["example.com/held"] } });
    await provider.delete(Pod, away("moved"), { gracePeriodSeconds: 1 });
    // As kubelets do before such a pod is gone.
    const terminated = { exitCode: 137, reason: "Error" };
    const containerStatuses = [{ ...main, imageID: "", ready: false, restartCount: 0, state: { terminated } }];
    const status = { phase: "Failed", containerStatuses };
    await provider.patch(Pod, away("moved"), "merge", { status }, { subresource: "status" });
    const leaving = await until<Pod>(consumer, Pod, home("moved"), (pod) => !isReady(pod));
    assert.equal(leaving?.status?.phase, "Running");
    await provider.patch(Pod, away("moved"), "merge", { metadata: { finalizers: [] } });
    await until<Pod>(
      provider,
      Pod,
      away("moved"),
      (pod) => ![undefined, first.metadata.uid].includes(pod?.metadata.uid),
    );
    const isBack = (pod?: Pod) => isReady(pod) && pod?.status?.containerStatuses?.[0]?.restartCount === 1;
    const again = await until<Pod>(
      consumer,
      Pod,
      home("moved"),
      (pod) => isBack(pod) || isTerminal(pod?.status?.phase),
    );
    assert.deepEqual([again?.metadata.uid, again?.status?.phase], [before.uid, "Running"]);
    await remove("moved");
  });

  it("that has succeeded stays so, whatever becomes of its guest", async () => {
    const { consumer, provider } = bed;
    await run(newPod("job", { restartPolicy: "Never" }));
    const terminated = { exitCode: 0, reason: "Completed" };
    const status = {
      phase: "Succeeded",
      containerStatuses: [{ ...main, imageID: "", ready: false, restartCount: 0, state: { terminated } }],
    };
    await provider.patch(Pod, away("job"), "merge", { status }, { subresource: "status" });
    await until<Pod>(consumer, Pod, home("job"), (pod) => pod?.status?.phase === "Succeeded");
    await until<ShadowPod>(provider, ShadowPod, away("job"), (shadow) => shadow?.status?.phase === "Succeeded");
    await provider.delete(Pod, away("job"), { gracePeriodSeconds: 0 });
    await bed.end("guests");
    bed.begin("guests");
    await run(newPod("meanwhile"));
    assert.equal((await provider.list(Pod, { namespace: TWIN })).items.length, 1);
    assert.equal((await consumer.get(Pod, home("job"))).status?.phase, "Succeeded");
    await remove("job", "meanwhile");
  });

  it("that must not run twice has failed once it is lost", async () => {
    const { consumer, provider } = bed;
    await run(newPod("once", { restartPolicy: "Never" }));
    await provider.delete(Pod, away("once"), { gracePeriodSeconds: 0 });
    const failed = await until<Pod>(consumer, Pod, home("once"), (pod) => pod?.status?.phase === "Failed");
    assert.equal(failed?.status?.reason, "Lost");
    await remove("once");
  });

  it("that cannot go, or that the provider does not take, says why", async () => {
    const { consumer } = bed;
    await consumer.create(Pod, newPod("host", { hostNetwork: true }));
    const held = await until<Pod>(consumer, Pod, home("host"), (pod) => condition(pod)?.status === "False");
    // Failed, its ReplicaSet would make another at once, and so on.
    assert.deepEqual([held?.status?.phase, condition(held)?.reason], ["Pending", "OffloadingRefused"]);
    assert.match(condition(held)?.message ?? "", /hostNetwork/);
    await consumer.create(Pod, newPod("mighty", { containers: [{ ...main, securityContext: { privileged: true } }] }));
    const refused = await until<Pod>(consumer, Pod, home("mighty"), (pod) => condition(pod)?.status === "False");
    assert.equal(condition(refused)?.reason, "PodRefused");
    assert.match(condition(refused)?.message ?? "", /privileged/);
    await remove("host", "mighty");
  });

  it("is said to have begun and ended by the clock of the own API, where the agent's is minutes ahead", async () => {
    const { consumer } = bed;
    await bed.end("offloader");
    bed.begin("offloader", { ...systemClock, now: () => systemClock.now() + 480_000 });
    const held = newPod("dated");
    // As a Job's: it waits from the end of one pod on before it makes the next.
    held.metadata.finalizers = ["example.com/held"];
    const isInTime = ({ status }: Pod) => {
      const times = JSON.stringify(status).match(/\d{4}-\d\d-\d\dT[^"]*/g) ?? [];
      const late = times.filter((time) => Date.parse(time) > consumer.serverClock.now() + 3_000);
      assert.deepEqual([times.length > 0, late], [true, []]);
    };
    isInTime(await run(held));
    await consumer.delete(Pod, home("dated"));
    const ended = await until<Pod>(consumer, Pod, home("dated"), (pod) => isTerminal(pod?.status?.phase));
    isInTime(ended as Pod);
    await consumer.patch(Pod, home("dated"), "merge", { metadata: { finalizers: null } });
    await until<Pod>(consumer, Pod, home("dated"), (pod) => pod === undefined);
    await bed.end("offloader");
    bed.begin("offloader");
  });

  it("ends with the grace that its deletion names", async () => {
    const { consumer, provider } = bed;
    await run(newPod("slow"));
    const graces: (number | undefined)[] = [];
    const ended = until<Pod>(provider, Pod, away("slow"), (pod) => {
      if (pod?.metadata.deletionTimestamp) graces.push(pod.metadata.deletionGracePeriodSeconds);
      return pod === undefined;
    });
    await consumer.delete(Pod, home("slow"), { gracePeriodSeconds: 77 });
    await ended;
    assert.equal(graces[0], 77);
    await until<Pod>(consumer, Pod, home("slow"), (pod) => pod === undefined);
  });

  it("that is deleted by force at home leaves nothing there", async () => {
    const { consumer, provider } = bed;
    await run(newPod("forced"));
    await consumer.delete(Pod, home("forced"), { gracePeriodSeconds: 0 });
    await until<ShadowPod>(provider, ShadowPod, away("forced"), (shadow) => shadow === undefined);
    await until<Pod>(provider, Pod, away("forced"), (pod) => pod === undefined);
  });

  it("of a name that was just used is another pod", async () => {
    const { consumer, provider } = bed;
    await run(newPod("again"));
    const first = await provider.get(Pod, away("again"));
    await consumer.delete(Pod, home("again"), { gracePeriodSeconds: 0 });
    const second = await run(newPod("again"));
    const guest = await provider.get(Pod, away("again"));
    assert.notEqual(guest.metadata.uid, first.metadata.uid);
    assert.equal(guest.metadata.labels?.[ORIGIN_UID_LABEL], second.metadata.uid);
    await remove("again");
  });

  it("is told from an earlier one of its name, whose guest has yet to end", async () => {
    const { consumer, provider } = bed;
    await bed.end("offloader");
    const offloader = bed.begin("offloader") as PodOffloader;
    const found = () => offloader.get(SHOP, "heir");
    await run(newPod("heir"));
    const { signal } = new AbortController();
    assert.equal(await offloader.isPreceded(found() as OffloadedPod, signal), false);
    await provider.patch(Pod, away("heir"), "merge", { metadata: { finalizers: ["example.com/stay"] } });
    await consumer.delete(Pod, home("heir"), { gracePeriodSeconds: 0 });
    const second = await consumer.create(Pod, newPod("heir"));
    await eventually(async () => found()?.pod.metadata.uid === second.metadata.uid);
    const later = found() as OffloadedPod;
    assert.equal(await offloader.isPreceded(later, signal), true);
    await bed.end("offloader");
    // Of the provider it knows nothing yet.
    const next = bed.begin("offloader") as PodOffloader;
    assert.equal(await next.isPreceded(later, signal), true);
    await provider.patch(Pod, away("heir"), "merge", { metadata: { finalizers: null } });
    await until<Pod>(consumer, Pod, home("heir"), isReady);
    assert.equal(await next.isPreceded(later, signal), false);
    await remove("heir");
  });

  it("waits for a provider that is away, and goes on when it is back", async () => {
    const { consumer, sites } = bed;
    await run(newPod("before"));
    sites.reach(false);
    await consumer.create(Pod, newPod("during"));
    await consumer.delete(Pod, home("before"));
    const kept = await consumer.get(Pod, home("before"));
    assert.ok(kept.metadata.deletionTimestamp);
    sites.reach(true);
    await until<Pod>(consumer, Pod, home("during"), isReady);
    await until<Pod>(consumer, Pod, home("before"), (pod) => pod === undefined);
    await remove("during");
  });

  it("leaves when its contract is drained", async () => {
    const { consumer, provider, contracts } = bed;
    await run(newPod("drained"));
    contracts.set({ takesPods: false, drained: true });
    const failed = await until<Pod>(consumer, Pod, home("drained"), (pod) => pod?.status?.phase === "Failed");
    assert.match(failed?.status?.message ?? "", /drained/);
    await until<Pod>(provider, Pod, away("drained"), (pod) => pod === undefined);
    contracts.set({});
    await remove("drained");
  });

  it("that finishes while its contract is drained has succeeded", async () => {
    const { consumer, provider, contracts } = bed;
    const pod = newPod("hasty", { restartPolicy: "Never" });
    pod.metadata.annotations = { "simulated.fjord.dev/stop-delay": "500ms" };
    await run(pod);
    // Held, so that it can be seen how it ended.
    await provider.patch(Pod, away("hasty"), "merge", { metadata: { finalizers: ["test.fjord.dev/hold"] } });
    contracts.set({ takesPods: false, drained: true });
    const ended = await until<Pod>(consumer, Pod, home("hasty"), (each) => isTerminal(each?.status?.phase));
    assert.equal(ended?.status?.phase, "Succeeded");
    await provider.patch(Pod, away("hasty"), "merge", { metadata: { finalizers: null } });
    await until<Pod>(provider, Pod, away("hasty"), (each) => each === undefined);
    assert.equal((await consumer.get(Pod, home("hasty"))).status?.phase, "Succeeded");
    contracts.set({});
    await remove("hasty");
  });

  it("has its service account's token where it asks for one, until it ends", async () => {
    const { consumer, provider } = bed;
    const token = { path: "token", audience: "vault", expirationSeconds: 600 };
    const volumes = [{ name: "vault", projected: { sources: [{ serviceAccountToken: token }] } }];
    const pod = await run(newPod("vaulted", { volumes }));
    const { items } = await provider.list(Secret, { namespace: TWIN, labelSelector: CONSUMER_LABEL });
    assert.equal(items.length, 1);
    const jwt = Buffer.from(items[0]?.data?.token ?? "", "base64").toString();
    const claims = JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());
    assert.deepEqual(claims.aud, ["vault"]);
    assert.equal(claims["kubernetes.io"].pod.uid, pod.metadata.uid);
    const guest = await provider.get(Pod, away("vaulted"));
    assert.equal(guest.spec?.volumes?.[0]?.projected?.sources?.[0]?.secret?.name, items[0]?.metadata.name);
    assert.equal(guest.spec?.automountServiceAccountToken, false);
    await remove("vaulted");
    await until<Pod>(provider, Secret, away(items[0]?.metadata.name ?? ""), (secret) => secret === undefined);
    assert.equal((await consumer.list(Secret, { namespace: SHOP })).items.length, 0);
  });

  it("is given up with a node that is away, and made again elsewhere, also while its consumer is away", async () => {
    const { provider } = bed;
    const stranded = newPod("stranded");
    // Long enough for its node to be away before it has ended.
    stranded.metadata.annotations = { "simulated.fjord.dev/stop-delay": "2s" };
    await run(stranded);
    const guest = await provider.get(Pod, away("stranded"));
    const node = { name: guest.spec?.nodeName ?? "" };
    const goAway = (away: "true" | "false") =>
      provider.patch(Node, node, "merge", { metadata: { annotations: { "simulated.fjord.dev/away": away } } });
    await bed.end("offloader");
    await goAway("true");
    try {
      const conditions = [{ type: "Ready", status: "Unknown", reason: "Silent", message: "" }];
      // The scheduler hears that a node is away only later, and would choose it again.
      await provider.patch(Node, node, "merge", { spec: { unschedulable: true } });
      await provider.patch(Node, node, "strategic", { status: { conditions } }, { subresource: "status" });
      await provider.delete(Pod, away("stranded"), { gracePeriodSeconds: 1 });
      await until<Pod>(
        provider,
        Pod,
        away("stranded"),
        (pod) => pod !== undefined && pod.metadata.uid !== guest.metadata.uid,
      );
    } finally {
      await goAway("false");
      await provider.patch(Node, node, "merge", { spec: { unschedulable: null } });
      bed.begin("offloader");
    }
    await until<Pod>(
      bed.consumer,
      Pod,
      home("stranded"),
      (pod) => pod?.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    await remove("stranded");
  });

  it("whose contract has ended is not waited for", async () => {
    const { consumer, sites, provider } = bed;
    await run(newPod("over"));
    await bed.end("guests");
    const contract = {
      id: "c-1",
      phase: "Ended",
      standing: "Ended",
      endReason: "Revoked",
      tenantReady: false,
    } as const;
    sites.tell({ id: PROVIDER, published: {}, endpoints: [], contracts: [contract] });
    await consumer.delete(Pod, home("over"));
    await until<Pod>(consumer, Pod, home("over"), (pod) => pod === undefined);
    await provider.get(Pod, away("over"));
  });
});
