import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { sleep, systemClock } from "@fjord/base";
import { ConfigMap, Node, type Pod, Secret } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { type LifeBed, until } from "./test-life-bed.ts";
import { LifeChecks, uidOf } from "./test-life-checks.ts";
import { fedSpec, onceSpec, serverSpec } from "./test-witness.ts";

/** What pods of `fedSpec` find, as they write it down. */
const fed = /^\S+ from-config from-secret \d{3,}$/;

/**
 * The API server goes; the node's process is killed, a container fails, the machine loses its power; the API comes back
 * with another opinion of what should run.
 */
export async function surviveAlone(bed: LifeBed): Promise<void> {
  const checks = new LifeChecks(bed);
  const { namespace, admin, place } = bed;
  await checks.nodeReady();
  const metadata = { name: "words", namespace };
  await admin.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { word: "from-config" } });
  const data = { word: Buffer.from("from-secret").toString("base64") };
  await admin.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data });
  const stays = await checks.create("stays", fedSpec(place));
  const goes = await checks.create("goes", serverSpec(place));
  const forced = await checks.create("forced", serverSpec(place));
  const once = await checks.create("done", onceSpec(place));
  const all = [stays, goes, forced];
  for (const { metadata } of all) await checks.ready(metadata.name ?? "");
  await checks.ranOnce(once);
  const starts = (pod: Pod) => checks.witness(pod).starts("server");

  await bed.kill("api");
  await bed.kill("node");
  await bed.start("node");
  await goesOnFromStore(bed);
  for (const pod of all) {
    await stillWrites(checks, pod);
    assert.equal(starts(pod).length, 1, `${pod.metadata.name} ran through a restart of the node`);
  }

  bed.crash(uidOf(stays));
  await until("what failed to be started without the API", () => starts(stays).length === 2);
  await stillWrites(checks, stays);

  await bed.powerCut();
  await bed.powerOn();
  for (const pod of all) {
    await until(`${pod.metadata.name} to come back`, () => starts(pod).length === (pod === stays ? 3 : 2), {
      more: () => bed.node.logTail(30),
    });
  }
  await stillWrites(checks, stays);
  const notes = checks.witness(stays).lines("server.fed");
  assert.equal(notes.length, 3);
  for (const note of notes) assert.match(note, fed);

  // Frozen, the node hears of nothing while others change what should run.
  await bed.node.pause();
  await bed.start("api");
  await bed.site.ready({ timeout: 90_000 });
  await checks.delete("goes");
  await checks.delete("forced", 0);
  const late = await checks.create("new", fedSpec(place));
  const before = all.map((pod) => starts(pod).length);
  await bed.node.resume();
  await checks.gone(goes);
  await checks.gone(forced);
  await checks.ready("new");
  await checks.ready("stays");
  await checks.nodeReady();
  assert.deepEqual(
    all.map((pod) => starts(pod).length),
    before,
    "nothing was started again when the API came back",
  );
  await checks.lived(late, "server", { starts: 1 });
  await checks.lived(stays, "server", { starts: 3 });
  await checks.runsAsTold("stays");
  assert.equal(checks.witness(once).starts("task").length, 1, "what had ended did not run again");
  assert.equal((await checks.get("done")).status?.phase, "Succeeded");
  for (const pod of [stays, late, once]) {
    await checks.delete(pod.metadata.name ?? "");
    await checks.gone(pod);
  }
}

/** Stopping the node as an upgrade does, and starting it again, is nothing that a pod or its users would notice. */
export async function surviveUpgrade(bed: LifeBed): Promise<void> {
  const checks = new LifeChecks(bed);
  await checks.nodeReady();
  const pod = await checks.create("upgraded", serverSpec(bed.place));
  const { metadata } = await checks.ready("upgraded");
  const unready = watchNode(bed);
  for (let round = 0; round < 2; round++) {
    const asked = systemClock.now();
    await bed.node.stop(20_000);
    assert.ok(systemClock.now() - asked < 15_000, "it stopped when it was asked to");
    await stillWrites(checks, pod);
    await bed.node.start();
    await until("exec", async () => (await exec(bed, "upgraded", "echo", "here")) === "here\n");
  }
  await checks.lived(pod, "server", { starts: 1 });
  assert.deepEqual(await unready.end(), []);
  const after = await checks.get("upgraded");
  assert.equal(after.metadata.resourceVersion, metadata.resourceVersion, "nothing was written about the pod");
  await checks.delete("upgraded");
  await checks.gone(pod);
}

async function goesOnFromStore(bed: LifeBed): Promise<void> {
  const words = "going on with the pods of the local store";
  await until("the node to go on from its store", () => bed.node.logTail(100).includes(words));
}

async function stillWrites(checks: LifeChecks, pod: Pod): Promise<void> {
  const count = () => checks.witness(pod).lines("server.lines").length;
  const before = count();
  await until(`${pod.metadata.name} to write on`, () => count() > before + 3);
}

async function exec(bed: LifeBed, pod: string, ...command: string[]): Promise<string> {
  const kubectl = findBinaries({ env: process.env }).binaries.path("kubectl");
  const where = ["--kubeconfig", bed.site.kubeconfig, "--namespace", bed.namespace];
  return (await promisify(execFile)(kubectl, [...where, "exec", pod, "--", ...command])).stdout;
}

/** Notes each time at which the node is seen not to be ready. */
function watchNode({ admin, nodeName }: LifeBed): { end(): Promise<string[]> } {
  const seen: string[] = [];
  const stop = new AbortController();
  const look = async () => {
    while (!stop.signal.aborted) {
      const { status } = await admin.get(Node, { name: nodeName });
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True") seen.push(`${ready?.status}: ${ready?.message}`);
      await sleep(systemClock, 100, stop.signal);
    }
  };
  const looking = look();
  return {
    end: async () => {
      stop.abort();
      await looking;
      return seen;
    },
  };
}
