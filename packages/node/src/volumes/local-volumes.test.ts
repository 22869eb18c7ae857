import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { podWithVolumes, testFacts, testPod } from "./testing/pods.ts";
import { placeOf, setUpVolumes, testUid } from "./testing/volumes-fixture.ts";

test("a pod gets its volumes, sees changes, and leaves nothing", async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t);
  objects.setConfigMap("settings", { "app.conf": "one", other: "x" });
  objects.setSecret("keys", { password: "hunter2" });
  const pod = podWithVolumes([
    { name: "scratch", emptyDir: {} },
    { name: "settings", configMap: { name: "settings" } },
    { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
    {
      name: "access",
      projected: {
        sources: [
          { serviceAccountToken: { path: "token", audience: "vault" } },
          { configMap: { name: "settings", items: [{ key: "other", path: "deep/other" }] } },
          { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
        ],
      },
    },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  const at = (path: string) => placeOf(mounts, path);

  assert.equal((await stat(at("/mnt/scratch"))).mode & 0o7777, 0o777);
  assert.equal(await readFile(join(at("/mnt/settings"), "app.conf"), "utf8"), "one");
  assert.equal(await readFile(join(at("/mnt/keys"), "password"), "utf8"), "hunter2");
  assert.equal((await stat(join(at("/mnt/keys"), "password"))).mode & 0o777, 0o400);
  assert.equal(await readFile(join(at("/mnt/access"), "token"), "utf8"), "token-1");
  assert.equal(await readFile(join(at("/mnt/access"), "deep/other"), "utf8"), "x");
  assert.equal(await readFile(join(at("/mnt/access"), "namespace"), "utf8"), "test");
  assert.deepEqual(objects.tokenRequests[0], { audience: "vault", expirationSeconds: 3600 });
  assert.match(await readFile(at("/etc/hosts"), "utf8"), /^10\.1\.2\.3\tweb$/m);
  assert.equal(volumes.nextRefresh(testUid), 2_880_000);
  const readOnly = mounts.filter((mount) => mount.readOnly).map(({ containerPath }) => containerPath);
  assert.deepEqual(readOnly, ["/mnt/settings", "/mnt/keys", "/mnt/access"]);

  const before = await readlink(join(at("/mnt/keys"), "..data"));
  objects.setConfigMap("settings", { "app.conf": "two", other: "y" });
  objects.nextToken = { token: "token-2", expiresAt: 9e9, refreshAt: 8e9 };
  await volumes.refresh(pod, testFacts);
  assert.equal(await readFile(join(at("/mnt/settings"), "app.conf"), "utf8"), "two");
  assert.equal(await readFile(join(at("/mnt/access"), "deep/other"), "utf8"), "y");
  assert.equal(await readFile(join(at("/mnt/access"), "token"), "utf8"), "token-2");
  assert.equal(await readlink(join(at("/mnt/keys"), "..data")), before);
  assert.equal(volumes.nextRefresh(testUid), 8e9);

  await volumes.remove(testUid);
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
  assert.equal(volumes.nextRefresh(testUid), undefined);
  await volumes.remove(testUid);
});

test("ConfigMaps give all keys or the chosen ones, binary ones too", async (t) => {
  const { volumes, objects } = await setUpVolumes(t);
  const bytes = Buffer.from([0, 255, 128, 10]);
  objects.setConfigMap("settings", { text: "grün" }, { blob: bytes.toString("base64") });
  const pod = podWithVolumes([
    { name: "all", configMap: { name: "settings", defaultMode: 0o440 } },
    {
      name: "chosen",
      configMap: {
        name: "settings",
        items: [
          { key: "blob", path: "a/b/c", mode: 0o777 },
          { key: "text", path: "text" },
        ],
      },
    },
    { name: "partial", configMap: { name: "settings", optional: true, items: [{ key: "none", path: "x" }] } },
    { name: "absent", configMap: { name: "none", optional: true } },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  assert.deepEqual(await readFile(join(placeOf(mounts, "/mnt/all"), "blob")), bytes);
  assert.equal(await readFile(join(placeOf(mounts, "/mnt/all"), "text"), "utf8"), "grün");
  assert.equal((await stat(join(placeOf(mounts, "/mnt/all"), "text"))).mode & 0o777, 0o440);
  assert.equal((await stat(join(placeOf(mounts, "/mnt/chosen"), "a/b/c"))).mode & 0o777, 0o777);
  assert.equal((await stat(join(placeOf(mounts, "/mnt/chosen"), "text"))).mode & 0o777, 0o644);
  const visible = async (path: string) =>
    (await readdir(placeOf(mounts, path))).filter((name) => !name.startsWith(".."));
  assert.deepEqual(await visible("/mnt/partial"), []);
  assert.deepEqual(await visible("/mnt/absent"), []);

  objects.setConfigMap("none", { now: "here" });
  await volumes.refresh(pod, testFacts);
  assert.deepEqual(await visible("/mnt/absent"), ["now"]);
  objects.configMaps.delete("test/none");
  await volumes.refresh(pod, testFacts);
  assert.deepEqual(await visible("/mnt/absent"), []);
});

test("labels, annotations and resources are written and follow the pod", async (t) => {
  const { volumes } = await setUpVolumes(t);
  const pod = podWithVolumes([
    {
      name: "info",
      downwardAPI: {
        items: [
          { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
          { path: "one", mode: 0o400, fieldRef: { fieldPath: "metadata.annotations['one']" } },
          { path: "cpu", resourceFieldRef: { containerName: "main", resource: "limits.cpu", divisor: "1m" } },
        ],
      },
    },
  ]);
  pod.metadata.labels = { app: "web" };
  await volumes.ensure(pod, testFacts);
  const directory = placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/info");
  assert.equal(await readFile(join(directory, "labels"), "utf8"), 'app="web"');
  assert.equal(await readFile(join(directory, "one"), "utf8"), "");
  assert.equal((await stat(join(directory, "one"))).mode & 0o777, 0o400);
  assert.equal(await readFile(join(directory, "cpu"), "utf8"), "3500");
  pod.metadata.labels = { app: "web", new: "1" };
  pod.metadata.annotations = { one: "uno" };
  await volumes.refresh(pod, testFacts);
  assert.equal(await readFile(join(directory, "labels"), "utf8"), 'app="web"\nnew="1"');
  assert.equal(await readFile(join(directory, "one"), "utf8"), "uno");
});

test("what is missing is told with the name of the volume, and the other volumes are made", async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t);
  objects.setConfigMap("settings", { a: "1" });
  objects.setSecret("keys", { a: "1" });
  const source = (volume: Parameters<typeof podWithVolumes>[0][number]) => podWithVolumes([volume]);
  const cases: [ReturnType<typeof source>, string][] = [
    [source({ name: "v", configMap: { name: "x" } }), 'configmap "x" not found'],
    [source({ name: "v", secret: { secretName: "x" } }), 'secret "x" not found'],
    [
      source({ name: "v", configMap: { name: "settings", items: [{ key: "b", path: "b" }] } }),
      "configmap references non-existent config key: b",
    ],
    [
      source({ name: "v", secret: { secretName: "keys", items: [{ key: "b", path: "b" }] } }),
      "references non-existent secret key: b",
    ],
    [
      source({
        name: "v",
        projected: { sources: [{ configMap: { name: "x" } }, { secret: { name: "y" } }, { secret: { name: "keys" } }] },
      }),
      '[configmap "x" not found, secret "y" not found]',
    ],
    [source({ name: "v", projected: { sources: [{ secret: { name: "y" } }] } }), 'secret "y" not found'],
    [
      source({ name: "v", configMap: { name: "settings", items: [{ key: "a", path: "../a" }] } }),
      "invalid path ../a: must not contain '..'",
    ],
    [source({ name: "v", nfs: { server: "x", path: "/" } }), 'volume "v" of kind nfs cannot be served by this node'],
    [source({ name: "v", persistentVolumeClaim: { claimName: "x" } }), 'persistentvolumeclaim "x" not found'],
  ];
  for (const [pod, reason] of cases) {
    await assert.rejects(volumes.ensure(pod, testFacts), {
      message: `MountVolume.SetUp failed for volume "v" : ${reason}`,
    });
  }
  const pod = podWithVolumes([
    { name: "broken", configMap: { name: "x" } },
    { name: "fine", emptyDir: {} },
  ]);
  await assert.rejects(volumes.ensure(pod, testFacts));
  assert.ok((await stat(join(stateDirectory, "pods", testUid, "volumes/empty-dir/fine"))).isDirectory());
});

test("nothing of a pod comes back after its removal", async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t);
  objects.setSecret("keys", { a: "1" });
  const pod = podWithVolumes([{ name: "keys", secret: { secretName: "keys" } }]);
  await volumes.ensure(pod, testFacts);
  await Promise.all([volumes.remove(testUid), volumes.refresh(pod, testFacts)]);
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
});

test("volumes that no container mounts hold nothing up", async (t) => {
  const { volumes } = await setUpVolumes(t);
  await volumes.ensure(testPod({ volumes: [{ name: "unused", secret: { secretName: "none" } }] }), testFacts);
});

test("what a pod does to its emptyDir stays, also when the node starts anew", async (t) => {
  const { volumes, again } = await setUpVolumes(t);
  const pod = podWithVolumes([{ name: "scratch", emptyDir: {} }]);
  await volumes.ensure(pod, testFacts);
  const path = placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/scratch");
  await writeFile(join(path, "file"), "x".repeat(10_000));
  await chmod(path, 0o700);
  await again().ensure(pod, testFacts);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  assert.equal((await readFile(join(path, "file"))).length, 10_000);
  const [usage] = await volumes.usage(testUid);
  assert.ok(usage && usage.usedBytes >= 10_000 && usage.usedBytes < 100_000, JSON.stringify(usage));
  assert.deepEqual(
    { volume: usage.volume, medium: usage.medium, inodes: usage.inodesUsed },
    { volume: "scratch", medium: "disk", inodes: 2 },
  );
});

test("data of the host and what links lead to outlive the pod", async (t) => {
  const { volumes, again, stateDirectory } = await setUpVolumes(t);
  const host = join(stateDirectory, "host");
  await mkdir(host);
  await writeFile(join(host, "precious"), "keep");
  const pod = podWithVolumes([
    { name: "host", hostPath: { path: host, type: "Directory" } },
    { name: "scratch", emptyDir: {} },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  assert.equal(placeOf(mounts, "/mnt/host"), host);
  await symlink(host, join(placeOf(mounts, "/mnt/scratch"), "link"));
  await again().remove(testUid);
  assert.equal(await readFile(join(host, "precious"), "utf8"), "keep");
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
});

test("uids and names that are paths are refused", async (t) => {
  const { volumes } = await setUpVolumes(t);
  for (const bad of ["", "..", ".", "../x", "a/b", "/etc", "a\0b", "x".repeat(200)]) {
    await assert.rejects(volumes.remove(bad), { code: "INVALID_VOLUME_NAME" });
    const pod = testPod();
    pod.metadata.uid = bad;
    await assert.rejects(volumes.ensure(pod, testFacts), { code: "INVALID_VOLUME_NAME" });
  }
  await assert.rejects(volumes.ensure(podWithVolumes([{ name: "../up", emptyDir: {} }]), testFacts), /cannot be used/);
});
