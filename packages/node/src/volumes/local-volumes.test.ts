import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LocalVolumes, type LocalVolumesOptions } from "./local-volumes.ts";
import { MemoryObjects } from "./testing/memory-objects.ts";
import { podWithVolumes, testFacts } from "./testing/pods.ts";

const uid = "0a1b2c3d-0000-4000-8000-000000000001";

/** Volumes without mounts, in a directory of their own. */
async function setUp(t: TestContext, options: Partial<LocalVolumesOptions> = {}) {
  const stateDirectory = await mkdtemp(join(tmpdir(), "volumes-"));
  const objects = new MemoryObjects();
  const volumes = new LocalVolumes({
    stateDirectory,
    objects,
    node: () => ({ name: "node-1", labels: {} }),
    mounter: undefined,
    ...options,
  });
  t.after(async () => {
    await volumes.remove(uid);
    await rm(stateDirectory, { recursive: true, force: true });
  });
  return { volumes, objects, stateDirectory };
}

test("a pod gets its volumes, sees changes, and leaves nothing", async (t) => {
  const { volumes, objects, stateDirectory } = await setUp(t);
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
  const at = (path: string) => mounts.find(({ containerPath }) => containerPath === path)?.hostPath ?? "";

  assert.equal((await stat(at("/mnt/scratch"))).mode & 0o7777, 0o777);
  assert.equal(await readFile(join(at("/mnt/settings"), "app.conf"), "utf8"), "one");
  assert.equal(await readFile(join(at("/mnt/keys"), "password"), "utf8"), "hunter2");
  assert.equal((await stat(join(at("/mnt/keys"), "password"))).mode & 0o777, 0o400);
  assert.equal(await readFile(join(at("/mnt/access"), "token"), "utf8"), "token-1");
  assert.equal(await readFile(join(at("/mnt/access"), "deep/other"), "utf8"), "x");
  assert.equal(await readFile(join(at("/mnt/access"), "namespace"), "utf8"), "test");
  assert.deepEqual(objects.tokenRequests[0], { audience: "vault", expirationSeconds: 3600 });
  assert.match(await readFile(at("/etc/hosts"), "utf8"), /^10\.1\.2\.3\tweb$/m);
  assert.equal(volumes.nextRefresh(uid), 2_880_000);

  const before = await readlink(join(at("/mnt/keys"), "..data"));
  objects.setConfigMap("settings", { "app.conf": "two", other: "y" });
  objects.nextToken = { token: "token-2", expiresAt: 9e9, refreshAt: 8e9 };
  await volumes.refresh(pod, testFacts);
  assert.equal(await readFile(join(at("/mnt/settings"), "app.conf"), "utf8"), "two");
  assert.equal(await readFile(join(at("/mnt/access"), "deep/other"), "utf8"), "y");
  assert.equal(await readFile(join(at("/mnt/access"), "token"), "utf8"), "token-2");
  assert.equal(await readlink(join(at("/mnt/keys"), "..data")), before);

  await volumes.remove(uid);
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
});
