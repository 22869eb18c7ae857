import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Clock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import {
  ConfigMap,
  clusterConfig,
  Deployment,
  EndpointSlice,
  Endpoints,
  isNotFound,
  KubeClient,
  Namespace,
  Pod,
  Secret,
  ServiceAccount,
} from "@fjord/kube";
import { PortTaken, StateInUse, StateUnreadable } from "./errors.ts";
import { type Microkube, startMicrokube } from "./microkube.ts";

function folder(t: { after(done: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), "fjord-microkube-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Waits for what controllers do, which takes moments. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error("it did not come about within 60 s");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("everything is there after a restart: objects, versions, the authority", async (t) => {
  const dataDir = folder(t);
  const quiet = { dataDir, controllers: false, scheduler: false };
  const first = await startMicrokube(quiet);
  const client = first.client();
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kept", namespace: "default" },
    data: { a: "1" },
  } as const;
  const made = await client.create(ConfigMap, object);
  await client.close();
  await assert.rejects(startMicrokube(quiet), StateInUse);
  for (const file of ["state.db", "state.db-wal"]) assert.equal(statSync(join(dataDir, file)).mode & 0o077, 0, file);
  await first.close();
  assert.equal(statSync(join(dataDir, "kubeconfig")).mode & 0o077, 0);

  await using second = await startMicrokube(quiet);
  assert.equal(second.credentials.clusterCa.certificate, first.credentials.clusterCa.certificate);
  await using again = second.client();
  const found = await again.get(ConfigMap, { name: "kept", namespace: "default" });
  assert.deepEqual([found.metadata.uid, found.data], [made.metadata.uid, { a: "1" }]);
  assert.equal(found.metadata.resourceVersion, made.metadata.resourceVersion);
});

test("a state that was emptied is refused, and no new cluster begins in its place", async (t) => {
  const dataDir = folder(t);
  const quiet = { dataDir, controllers: false, scheduler: false };
  const path = join(dataDir, "state.db");
  // As a kill leaves it that comes before anything is written.
  writeFileSync(path, "");
  const first = await startMicrokube(quiet);
  const made = await uidOfKubeSystem(first);
  await first.close();
  truncateSync(path);
  writeFileSync(`${path}-wal`, "what was not yet in it");
  await assert.rejects(startMicrokube(quiet), (error) => {
    assert(error instanceof StateUnreadable);
    assert.match(error.message, /state\.db: it is empty, and the kubeconfig beside it is of a cluster/);
    return true;
  });
  assert.deepEqual([statSync(path).size, statSync(`${path}-wal`).size], [0, 22]);
  rmSync(path);
  await using second = await startMicrokube(quiet);
  assert.notEqual(await uidOfKubeSystem(second), made);
});

async function uidOfKubeSystem(microkube: Microkube): Promise<string | undefined> {
  await using client = microkube.client();
  const { metadata } = await client.get(Namespace, { name: "kube-system" });
  return metadata.uid;
}

test("a port that is taken is said to be", async () => {
  await using one = await startMicrokube({ controllers: false, scheduler: false });
  const port = Number(new URL(one.server).port);
  await assert.rejects(startMicrokube({ port, controllers: false, scheduler: false }), PortTaken);
});

test("several run in one process, each for itself, with controllers that look after them", async () => {
  await using one = await startMicrokube();
  await using other = await startMicrokube();
  await using client = one.client();
  await using otherClient = other.client();
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const key = { name: "default", namespace: "shop" };
  await until(() => client.get(ServiceAccount, key).catch(ignoreMissing));
  const labels = { app: "web" };
  await client.create(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop" },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "nginx" }] } },
    },
  });
  await until(async () => {
    const { items } = await client.list(Pod, { namespace: "shop" });
    return items.length === 2 ? items : undefined;
  });
  assert.equal(await otherClient.get(Namespace, { name: "shop" }).catch(ignoreMissing), undefined);
  await client.delete(Namespace, { name: "shop" });
  await until(async () => ((await client.get(Namespace, { name: "shop" }).catch(ignoreMissing)) ? undefined : true));
});

test("a Secret for a service account's token is filled, and the token is good", async () => {
  await using microkube = await startMicrokube({ scheduler: false });
  await using client = microkube.client();
  const key = { name: "default", namespace: "default" };
  await until(() => client.get(ServiceAccount, key).catch(ignoreMissing));
  await client.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "token",
      namespace: "default",
      annotations: { "kubernetes.io/service-account.name": "default" },
    },
    type: "kubernetes.io/service-account-token",
  });
  const token = await until(async () => (await client.get(Secret, { ...key, name: "token" })).data?.token);
  const ca = microkube.credentials.clusterCa.certificate;
  const text = Buffer.from(token, "base64").toString();
  await using other = new KubeClient(clusterConfig({ server: microkube.server, ca, token: text }));
  const refusal = await other.get(ServiceAccount, key).catch((error: Error) => error.message);
  assert.match(String(refusal), /system:serviceaccount:default:default/);
});

function ignoreMissing(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

test("an address or a folder that cannot be used is told in words", async (t) => {
  const quiet = { controllers: false, scheduler: false };
  await assert.rejects(startMicrokube({ ...quiet, host: "192.0.2.1" }), {
    code: "ADDRESS_UNUSABLE",
    message: "cannot listen on 192.0.2.1:0: this machine does not have that address",
  });
  const path = join(folder(t), "file");
  writeFileSync(path, "");
  await assert.rejects(startMicrokube({ ...quiet, dataDir: path }), {
    code: "DATA_DIRECTORY_UNUSABLE",
    message: `cannot keep anything in ${path}: it is a file, and no folder`,
  });
  await assert.rejects(startMicrokube({ ...quiet, dataDir: join(path, "below") }), { code: "DATA_DIRECTORY_UNUSABLE" });
  const dataDir = folder(t);
  writeFileSync(join(dataDir, "pki"), "");
  await assert.rejects(startMicrokube({ ...quiet, dataDir }), {
    code: "DATA_DIRECTORY_UNUSABLE",
    message: `cannot keep anything in ${join(dataDir, "pki")}: it is a file, and no folder`,
  });
});

test("what fails once it serves leaves nothing behind: the same folder can be used at once", async (t) => {
  const dataDir = folder(t);
  mkdirSync(join(dataDir, "kubeconfig"));
  await assert.rejects(startMicrokube({ dataDir }), { code: "KUBECONFIG_UNWRITABLE" });
  rmdirSync(join(dataDir, "kubeconfig"));
  await using microkube = await startMicrokube({ dataDir });
  assert.ok(microkube.kubeconfigPath);
});

test("the past is compacted after five minutes, though the clock goes back by a year", async () => {
  const manual = new ManualClock(Date.now());
  let back = 0;
  const clock: Clock = { now: () => manual.now() - back, after: (ms, call) => manual.after(ms, call) };
  await using microkube = await startMicrokube({ clock, controllers: false, scheduler: false });
  await using client = microkube.client();
  const first = await client.list(Namespace);
  await manual.advance(60_000);
  back = 365 * 24 * 3_600_000;
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "later" } });
  await manual.advance(6 * 60_000);
  const old = client.list(Namespace, {
    resourceVersion: first.metadata?.resourceVersion,
    resourceVersionMatch: "Exact",
  });
  await assert.rejects(old, { statusCode: 410 });
});

test("pods are told where the API is: in endpoints and slices of the Service `kubernetes`", async () => {
  await using microkube = await startMicrokube({ advertiseAddress: "192.0.2.7", controllers: false, scheduler: false });
  await using client = microkube.client();
  const port = Number(new URL(microkube.server).port);
  const endpoints = await client.get(Endpoints, { namespace: "default", name: "kubernetes" });
  assert.deepEqual(endpoints.subsets?.[0], {
    addresses: [{ ip: "192.0.2.7" }],
    ports: [{ name: "https", port, protocol: "TCP" }],
  });
  const slice = await client.get(EndpointSlice, { namespace: "default", name: "kubernetes" });
  assert.deepEqual(slice.endpoints?.[0]?.addresses, ["192.0.2.7"]);
});
