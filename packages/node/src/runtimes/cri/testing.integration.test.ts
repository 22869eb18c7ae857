import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import { cgroupMounts } from "./pod-cgroups.ts";
import { containerdSkip } from "./testing.ts";

const program = `
import { CriRuntime } from "./cri-runtime.ts";
import { exampleContainer, examplePod } from "./testing/example-pod.ts";
import { PrivateContainerd } from "./testing.ts";
const containerd = await PrivateContainerd.start();
const runtime = new CriRuntime(containerd);
const pod = examplePod(containerd, "left");
const sandbox = await runtime.runSandbox(pod);
await runtime.startContainer(await runtime.createContainer(sandbox, exampleContainer("main", "exec sleep 1000"), pod));
console.log(containerd.directory);
setInterval(() => {}, 1000);
`;

test("a test that is killed leaves nothing of its containerd behind", { skip: containerdSkip() }, async () => {
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const directory = line.toString().trim();
  const mounts = cgroupMounts(readFileSync("/proc/mounts", "utf8"));
  const groups = mounts.map((mount) => join(mount.directory, basename(directory)));
  assert.ok([directory, ...groups].every((path) => existsSync(path)));
  child.kill("SIGKILL");
  for (let tries = 1_200; [directory, ...groups].some((path) => existsSync(path)); tries--) {
    assert.ok(tries > 0, `${directory} or its control groups are still there`);
    await sleep(systemClock, 50);
  }
});
