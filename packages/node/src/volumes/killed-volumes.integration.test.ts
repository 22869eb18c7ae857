import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { exists } from "./file-errors.ts";
import { LocalVolumes } from "./local-volumes.ts";
import { SystemMounter, systemMounter } from "./mounter.ts";
import { MemoryObjects } from "./testing/memory-objects.ts";
import { testFacts } from "./testing/pods.ts";
import { restlessPod, setRestlessContent } from "./testing/restless-pod.ts";
import { placeOf } from "./testing/volumes-fixture.ts";

const skip = systemMounter() === undefined ? "this process may not mount" : false;
const script = join(import.meta.dirname, "testing/restless-volumes.ts");

/** The version that a volume shows; undefined where there is none yet. */
async function shown(directory: string): Promise<string | undefined> {
  if (!(await exists(join(directory, "..data")))) return undefined;
  const version = join(directory, await readlink(join(directory, "..data")));
  const [a, b] = await Promise.all(["a", "b"].map((name) => readFile(join(version, name), "utf8")));
  assert.equal(a, b, "one whole version");
  return a;
}

test("a node killed at any moment leaves volumes whole, and the next one goes on", {
  skip,
  timeout: 240_000,
}, async (t) => {
  const stateDirectory = await mkdtemp(join(tmpdir(), "killed-"));
  const mounter = new SystemMounter();
  t.after(async () => {
    for (const point of await mounter.mountsBelow(stateDirectory)) await mounter.unmount(point);
    await rm(stateDirectory, { recursive: true });
  });
  const uid = "killed-pod";
  const pod = restlessPod(uid);
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, [script, stateDirectory, uid], { stdio: ["ignore", "pipe", "inherit"] });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    await delay(round * 37);
    child.kill("SIGKILL");
    await exited;

    await shown(join(stateDirectory, "pods", uid, "volumes/config-map/settings"));
    await shown(join(stateDirectory, "memory", uid, "volumes/keys"));
    const objects = new MemoryObjects();
    setRestlessContent(objects, `after ${round}`);
    const volumes = new LocalVolumes({ stateDirectory, objects, node: () => ({ name: "node-1", labels: {} }) });
    if (round % 2 === 0) {
      await volumes.ensure(pod, testFacts);
      const mounts = await volumes.mounts(pod, "main", testFacts);
      assert.equal(await shown(placeOf(mounts, "/settings")), `after ${round}`);
      assert.equal(await shown(placeOf(mounts, "/keys")), `after ${round}`);
      assert.equal(await readFile(placeOf(mounts, "/one"), "utf8"), `after ${round}`);
    }
    await volumes.remove(uid);
    assert.deepEqual(await readdir(join(stateDirectory, "pods")), []);
    assert.deepEqual(await readdir(stateDirectory), ["pods"], "the memory is given back");
    assert.deepEqual(await mounter.mountsBelow(stateDirectory), []);
  }
});
