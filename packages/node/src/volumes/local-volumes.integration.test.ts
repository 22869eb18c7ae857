import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { mountOf, SystemMounter, systemMounter } from "./mounter.ts";
import { podWithVolumes, testFacts, testPod } from "./testing/pods.ts";
import { placeOf, setUpVolumes, testUid } from "./testing/volumes-fixture.ts";
import { removeTree } from "./tree-removal.ts";
import { exceededLimits } from "./volume-usage.ts";

const run = promisify(execFile);
const skip = systemMounter() === undefined ? "this process may not mount" : false;
const TMPFS = 0x01021994;
const group = 23456;
const mounter = new SystemMounter();

async function ownership(path: string): Promise<string> {
  const { mode, uid, gid } = await stat(path);
  return `${(mode & 0o7777).toString(8)} ${uid} ${gid}`;
}

test("emptyDirs in memory are file systems of their size, and go with the pod", { skip }, async (t) => {
  const { volumes, again, stateDirectory } = await setUpVolumes(t, { mounter });
  const volume = (sizeLimit?: string) => ({ medium: "Memory", ...(sizeLimit === undefined ? {} : { sizeLimit }) });
  const pod = podWithVolumes([
    { name: "small", emptyDir: volume("1Mi") },
    { name: "free", emptyDir: volume() },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  const [small, free] = [placeOf(mounts, "/mnt/small"), placeOf(mounts, "/mnt/free")];
  assert.equal((await statfs(small)).type, TMPFS);
  assert.equal(await ownership(small), "1777 0 0");
  const { blocks, bsize } = await statfs(free);
  assert.equal(blocks * bsize, testFacts.allocatable.memory);

  await writeFile(join(small, "file"), Buffer.alloc(1_000_000));
  await assert.rejects(writeFile(join(small, "more"), Buffer.alloc(1_000_000)), { code: "ENOSPC" });
  await again().ensure(pod, testFacts);
  assert.equal((await readFile(join(small, "file"))).length, 1_000_000);
  const usage = (await again().usage(testUid)).find(({ volume: name }) => name === "small");
  assert.ok(usage?.medium === "memory" && usage.usedBytes > 1_000_000);
  assert.deepEqual(exceededLimits(pod, [{ ...usage, usedBytes: 2 ** 20 + 1 }]), [
    'Usage of EmptyDir volume "small" exceeds the limit "1Mi". ',
  ]);
  assert.deepEqual(exceededLimits(pod, [{ ...usage, usedBytes: 2 ** 20 }]), []);

  await again().remove(testUid);
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
  assert.deepEqual(await mounter.mountsBelow(join(stateDirectory, "pods")), []);
});

test("secrets and tokens are in memory, by one mount for all pods", { skip }, async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t, { mounter });
  objects.setSecret("keys", { a: "1" });
  const pod = podWithVolumes([
    { name: "keys", secret: { secretName: "keys" } },
    { name: "access", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  for (const path of ["/mnt/keys", "/mnt/access"]) assert.equal((await statfs(placeOf(mounts, path))).type, TMPFS);
  assert.deepEqual(await mounter.mountsBelow(stateDirectory), [join(stateDirectory, "memory")]);
});

test("the memory is given back with the last pod, and never missing for one that comes meanwhile", {
  skip,
}, async (t) => {
  const { volumes, again, objects, stateDirectory } = await setUpVolumes(t, { mounter });
  objects.setSecret("keys", { a: "1" });
  const pods = [0, 1, 2].map((index) => {
    const pod = podWithVolumes([{ name: "keys", secret: { secretName: "keys" } }]);
    return { ...pod, metadata: { ...pod.metadata, uid: `pod-${index}` } };
  });
  const placeFor = async (pod: (typeof pods)[number]) =>
    placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/keys");
  // Each pod comes and goes in its own time: the memory is needed and given back at any moment of the others.
  await Promise.all(
    pods.map(async (pod, index) => {
      for (let round = 0; round < 8; round++) {
        await volumes.ensure(pod, testFacts);
        assert.equal((await statfs(await placeFor(pod))).type, TMPFS, "a secret is on a disk");
        for (let pause = 0; pause < index; pause++) await volumes.refresh(pod, testFacts);
        await volumes.remove(pod.metadata.uid);
      }
    }),
  );
  assert.deepEqual(await mounter.mountsBelow(stateDirectory), []);

  const [pod] = pods;
  assert.ok(pod);
  await volumes.ensure(pod, testFacts);
  await again().remove("pod-0");
  assert.deepEqual(await mounter.mountsBelow(stateDirectory), [], "also by a node that has started again");
  assert.deepEqual(await readdir(stateDirectory), ["pods"]);
});

test("volumes with propagation are shared mounts, whatever the machine's root is", { skip }, async (t) => {
  const { volumes, again, objects, stateDirectory } = await setUpVolumes(t, { mounter });
  objects.setSecret("keys", { a: "1" });
  const outside = await mkdtemp(join(tmpdir(), "outside-"));
  t.after(() => rm(outside, { recursive: true }));
  const pod = podWithVolumes([
    { name: "disk", emptyDir: {} },
    { name: "memory", emptyDir: { medium: "Memory" } },
    { name: "keys", secret: { secretName: "keys" } },
    { name: "outside", hostPath: { path: outside } },
    { name: "plain", emptyDir: {} },
  ]);
  for (const mount of pod.spec?.containers[0]?.volumeMounts ?? []) {
    if (mount.name !== "plain") mount.mountPropagation = "Bidirectional";
  }
  await volumes.ensure(pod, testFacts);
  await volumes.mounts(pod, "main", testFacts);
  const before = await mounter.mountsBelow(stateDirectory);
  const mounts = await again().mounts(pod, "main", testFacts);
  assert.deepEqual(await mounter.mountsBelow(stateDirectory), before, "nothing is mounted twice");
  const table = await readFile("/proc/self/mountinfo", "utf8");
  for (const name of ["disk", "memory", "keys"]) {
    assert.equal(mountOf(table, placeOf(mounts, `/mnt/${name}`))?.isShared, true, name);
  }
  assert.equal(mountOf(table, outside)?.point === outside, false, "the machine's own directories are left alone");
  assert.equal(before.includes(placeOf(mounts, "/mnt/plain")), false);

  // As a container with mounts of its own, killed with them.
  const inner = join(placeOf(mounts, "/mnt/disk"), "inner");
  await mkdir(inner);
  await mounter.tmpfs(inner, { mode: 0o755 });
  await volumes.remove(testUid);
  assert.deepEqual(await mounter.mountsBelow(stateDirectory), []);
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
});

test("volumes belong to the pod's group, tokens to its user", { skip }, async (t) => {
  const { volumes, objects } = await setUpVolumes(t, { mounter });
  objects.setConfigMap("settings", { a: "1" });
  objects.setSecret("keys", { a: "1" });
  const pod = podWithVolumes(
    [
      { name: "scratch", emptyDir: {} },
      { name: "fast", emptyDir: { medium: "Memory" } },
      { name: "settings", configMap: { name: "settings", items: [{ key: "a", path: "x/a" }] } },
      { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
      { name: "access", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
    ],
    { securityContext: { fsGroup: group, runAsUser: 1234 } },
  );
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  const at = (path: string) =>
    ownership(join(placeOf(mounts, `/mnt/${path.split("/")[0]}`), ...path.split("/").slice(1)));
  assert.equal(await at("scratch"), `2777 0 ${group}`);
  assert.equal(await at("fast"), `3777 0 ${group}`);
  assert.equal(await at("settings"), `2755 0 ${group}`);
  assert.equal(await at("settings/x"), `2755 0 ${group}`);
  assert.equal(await at("settings/x/a"), `644 0 ${group}`);
  assert.equal(await at("keys/a"), `440 0 ${group}`);
  assert.equal(await at("access/token"), `640 1234 ${group}`);
});

test("without a group, a token is for the one user of the pod", { skip }, async (t) => {
  const { volumes } = await setUpVolumes(t, { mounter });
  const volume = { name: "access", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
  const pod = podWithVolumes([volume], { securityContext: { runAsUser: 1234 } });
  await volumes.ensure(pod, testFacts);
  const directory = placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/access");
  assert.equal(await ownership(join(directory, "token")), "600 1234 0");
});

test("a sub-path is mounted as it was checked, and again when it has changed", { skip }, async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t, { mounter });
  await mkdir(join(stateDirectory, "outside"));
  await writeFile(join(stateDirectory, "outside/secret"), "");
  objects.setConfigMap("settings", { conf: "one" });
  const pod = testPod({
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
    ],
    container: {
      volumeMounts: [
        { name: "scratch", mountPath: "/x", subPath: "dir" },
        { name: "settings", mountPath: "/conf", subPath: "conf" },
      ],
    },
  });
  await volumes.ensure(pod, testFacts);
  const scratch = join(stateDirectory, "pods", testUid, "volumes/empty-dir/scratch");
  const mounts = await volumes.mounts(pod, "main", testFacts);
  await writeFile(join(scratch, "dir/inside"), "");
  await rename(join(scratch, "dir"), join(scratch, "old"));
  await symlink(join(stateDirectory, "outside"), join(scratch, "dir"));
  assert.deepEqual(await readdir(placeOf(mounts, "/x")), ["inside"]);
  await assert.rejects(volumes.mounts(pod, "main", testFacts), { code: "SUB_PATH_INVALID" });
  await rm(join(scratch, "dir"));

  objects.setConfigMap("settings", { conf: "two" });
  await volumes.refresh(pod, testFacts);
  assert.equal(await readFile(placeOf(mounts, "/conf"), "utf8"), "one", "sub-paths do not follow changes");
  const again = await volumes.mounts(pod, "main", testFacts);
  assert.equal(await readFile(placeOf(again, "/conf"), "utf8"), "two");
  assert.deepEqual(await readdir(placeOf(again, "/x")), []);
  const count = (await mounter.mountsBelow(join(stateDirectory, "pods"))).length;
  await volumes.mounts(pod, "main", testFacts);
  assert.equal((await mounter.mountsBelow(join(stateDirectory, "pods"))).length, count, "nothing is mounted twice");
});

test("what others have mounted in a volume is unmounted, never deleted", { skip }, async (t) => {
  const { volumes, again, stateDirectory } = await setUpVolumes(t, { mounter });
  const precious = join(stateDirectory, "precious");
  await mkdir(precious);
  await writeFile(join(precious, "file"), "keep");
  const pod = podWithVolumes([{ name: "scratch", emptyDir: {} }]);
  await volumes.ensure(pod, testFacts);
  const scratch = placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/scratch");
  await mkdir(join(scratch, "a/b"), { recursive: true });
  await run("mount", ["--bind", precious, join(scratch, "a/b")]);
  await run("mount", ["-t", "tmpfs", "tmpfs", join(scratch, "a/b")]);
  await mkdir(join(scratch, "direct"));
  await run("mount", ["--bind", precious, join(scratch, "direct")]);
  await writeFile(join(scratch, "file"), "");
  await run("mount", ["--bind", join(precious, "file"), join(scratch, "file")]);

  for (const path of ["direct", "a", "file"]) {
    await assert.rejects(removeTree(join(scratch, path)), (error: NodeJS.ErrnoException) =>
      /MOUNT|EBUSY/.test(error.code ?? ""),
    );
  }
  await assert.rejects(removeTree(scratch), { code: "MOUNT_IN_THE_WAY" });
  assert.equal(await readFile(join(precious, "file"), "utf8"), "keep");
  await again().remove(testUid);
  assert.equal(await readFile(join(precious, "file"), "utf8"), "keep");
  assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
});

test("persistent volumes are given to the group, once or always, and outlive the pod", { skip }, async (t) => {
  const { volumes, objects, stateDirectory } = await setUpVolumes(t, { mounter });
  const path = join(stateDirectory, "disk");
  await mkdir(join(path, "deep"), { recursive: true });
  await writeFile(join(path, "deep/file"), "keep", { mode: 0o600 });
  await symlink("/etc/passwd", join(path, "link"));
  const passwords = await ownership("/etc/passwd");
  objects.claims.set("test/mine", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "mine", uid: "claim-uid" },
    spec: { volumeName: "disk" },
    status: { phase: "Bound" },
  });
  objects.persistentVolumes.set("disk", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "disk" },
    spec: { claimRef: { uid: "claim-uid" }, local: { path } },
  });
  const podFor = (fsGroupChangePolicy: "Always" | "OnRootMismatch") =>
    podWithVolumes([{ name: "data", persistentVolumeClaim: { claimName: "mine" } }], {
      securityContext: { fsGroup: group, fsGroupChangePolicy },
    });
  await volumes.ensure(podFor("OnRootMismatch"), testFacts);
  assert.equal(await ownership(path), `2775 0 ${group}`);
  assert.equal(await ownership(join(path, "deep/file")), `660 0 ${group}`);
  assert.equal(await ownership("/etc/passwd"), passwords);

  await chown(join(path, "deep/file"), 0, 0);
  await chmod(join(path, "deep/file"), 0o600);
  await volumes.ensure(podFor("OnRootMismatch"), testFacts);
  assert.equal(await ownership(join(path, "deep/file")), "600 0 0");
  await volumes.ensure(podFor("Always"), testFacts);
  assert.equal(await ownership(join(path, "deep/file")), `660 0 ${group}`);

  const mounts = await volumes.mounts(podFor("Always"), "main", testFacts);
  assert.equal(placeOf(mounts, "/mnt/data"), path);
  await volumes.remove(testUid);
  assert.equal(await readFile(join(path, "deep/file"), "utf8"), "keep");

  await rm(path, { recursive: true });
  await assert.rejects(volumes.ensure(podFor("Always"), testFacts), /which does not exist/);
});
