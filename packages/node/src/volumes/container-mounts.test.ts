import assert from "node:assert/strict";
import { readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { podWithVolumes, testFacts, testPod } from "./testing/pods.ts";
import { placeOf, setUpVolumes } from "./testing/volumes-fixture.ts";

test("sub-paths are found, made, expanded, and kept inside", async (t) => {
  const { volumes, objects } = await setUpVolumes(t);
  objects.setConfigMap("settings", { "app.conf": "one" });
  const mount = (subPath: string) => ({ name: "scratch", mountPath: "/x", subPath });
  const podWith = (volumeMounts: { name: string; mountPath: string; subPath?: string; subPathExpr?: string }[]) =>
    testPod({
      volumes: [
        { name: "scratch", emptyDir: {} },
        { name: "settings", configMap: { name: "settings" } },
      ],
      container: {
        volumeMounts,
        env: [
          { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "UP", value: ".." },
        ],
      },
    });
  const pod = podWith([
    mount("logs/web"),
    { name: "scratch", mountPath: "/y", subPathExpr: "by-name/$(POD)" },
    { name: "settings", mountPath: "/etc/app.conf", subPath: "app.conf" },
  ]);
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  assert.match(placeOf(mounts, "/x"), /scratch\/logs\/web$/);
  assert.match(placeOf(mounts, "/y"), /scratch\/by-name\/web$/);
  assert.equal((await stat(placeOf(mounts, "/y"))).mode & 0o777, 0o777);
  const file = placeOf(mounts, "/etc/app.conf");
  assert.equal(await readFile(file, "utf8"), "one");

  const refused: [string, RegExp][] = [
    ["../up", /^subPath "..\/up" of volumeMount scratch must not contain '..'$/],
    ["/abs", /^subPath "\/abs" of volumeMount scratch must not be an absolute path$/],
    ["a/../../b", /must not contain '..'$/],
    ["leak", /^failed to prepare subPath for volumeMount "scratch" of container "main"$/],
  ];
  await symlink("/etc", join(placeOf(mounts, "/x"), "../../leak"));
  for (const [bad, message] of refused) {
    await assert.rejects(volumes.mounts(podWith([mount(bad)]), "main", testFacts), { message });
  }
  const expressions: [string, RegExp][] = [
    ["$(NONE)/x", /missing value for NONE/],
    ["$(UP)/x", /must not contain/],
    ["/$(POD)", /must not be an absolute path/],
  ];
  for (const [subPathExpr, message] of expressions) {
    const bad = podWith([{ name: "scratch", mountPath: "/y", subPathExpr }]);
    await assert.rejects(volumes.mounts(bad, "main", testFacts), { message });
  }
});

test("mounts carry what their container asks of them", async (t) => {
  const { volumes } = await setUpVolumes(t, { recursiveReadOnly: true });
  const pod = testPod({
    volumes: [
      { name: "a", emptyDir: {} },
      { name: "image", image: { reference: "registry/x:1" } },
    ],
    container: {
      volumeMounts: [
        { name: "a", mountPath: "/ro", readOnly: true, recursiveReadOnly: "Enabled" },
        { name: "a", mountPath: "relative", mountPropagation: "HostToContainer" },
        { name: "a", mountPath: "/both", mountPropagation: "Bidirectional" },
        { name: "image", mountPath: "/image", subPath: "share" },
        { name: "a", mountPath: "/etc/hosts", subPath: "hosts" },
      ],
    },
  });
  await volumes.ensure(pod, testFacts);
  const mounts = await volumes.mounts(pod, "main", testFacts);
  const settings = mounts.map(({ hostPath: _, ...rest }) => rest);
  assert.deepEqual(settings, [
    { containerPath: "/ro", readOnly: true, recursiveReadOnly: true, propagation: "private" },
    { containerPath: "/relative", readOnly: false, propagation: "hostToContainer" },
    { containerPath: "/both", readOnly: false, propagation: "bidirectional" },
    { containerPath: "/image", readOnly: true, image: "registry/x:1", imageSubPath: "share", propagation: "private" },
    { containerPath: "/etc/hosts", readOnly: false, propagation: "private" },
  ]);
  const recursive = (mount: object) =>
    testPod({
      volumes: [{ name: "a", emptyDir: {} }],
      container: { volumeMounts: [{ name: "a", mountPath: "/x", recursiveReadOnly: "Enabled", ...mount }] },
    });
  await assert.rejects(volumes.mounts(recursive({}), "main", testFacts), /but it is not read-only/);
  const propagating = recursive({ readOnly: true, mountPropagation: "Bidirectional" });
  await assert.rejects(volumes.mounts(propagating, "main", testFacts), /not compatible with propagation/);
  const { volumes: unable } = await setUpVolumes(t);
  const wanting = recursive({ readOnly: true });
  await unable.ensure(wanting, testFacts);
  await assert.rejects(unable.mounts(wanting, "main", testFacts), /not supported by the runtime/);
});

test("a volume that an ephemeral container is the first to mount is made for it", async (t) => {
  const { volumes } = await setUpVolumes(t);
  const pod = testPod({ volumes: [{ name: "late", emptyDir: {} }] });
  await volumes.ensure(pod, testFacts);
  const debug = { name: "debug", image: "x", volumeMounts: [{ name: "late", mountPath: "/x" }] };
  pod.spec = { ...pod.spec, containers: pod.spec?.containers ?? [], ephemeralContainers: [debug] };
  const mounts = await volumes.mounts(pod, "debug", testFacts);
  assert.equal((await stat(placeOf(mounts, "/x"))).mode & 0o777, 0o777);
});

test("/etc/hosts is not given where the container mounts it or the pod has no address", async (t) => {
  const hosts = join(tmpdir(), `hosts-${process.pid}`);
  await writeFile(hosts, "127.0.0.1 machine\n");
  t.after(() => rm(hosts));
  const { volumes } = await setUpVolumes(t, { hostsFile: hosts });
  assert.deepEqual(await volumes.mounts(testPod(), "main", { ...testFacts, podIPs: [] }), []);
  const [mount] = await volumes.mounts(testPod({ hostNetwork: true }), "main", { ...testFacts, podIPs: [] });
  assert.match(await readFile(mount?.hostPath ?? "", "utf8"), /host network.*machine/s);
});

test("variables can be read from files in an emptyDir, and from nowhere else", async (t) => {
  const { volumes, objects } = await setUpVolumes(t);
  objects.setSecret("keys", { file: "X='1'" });
  const pod = podWithVolumes([
    { name: "shared", emptyDir: {} },
    { name: "keys", secret: { secretName: "keys" } },
  ]);
  await volumes.ensure(pod, testFacts);
  const directory = placeOf(await volumes.mounts(pod, "main", testFacts), "/mnt/shared");
  await writeFile(join(directory, "out.env"), "A='1'\n");
  await symlink("/etc/passwd", join(directory, "leak"));
  assert.equal(await volumes.readFile(pod, "shared", "out.env"), "A='1'\n");
  for (const [volume, path] of [
    ["shared", "leak"],
    ["shared", "../../x"],
    ["keys", "file"],
    ["none", "x"],
  ] as const) {
    await assert.rejects(volumes.readFile(pod, volume, path), { code: "ENVIRONMENT_FILE_UNREADABLE" });
  }
  await assert.rejects(volumes.readFile(pod, "shared", "none"), { code: "ENVIRONMENT_FILE_UNREADABLE" });
  await assert.rejects(stat(join(directory, "none")), { code: "ENOENT" });
});
