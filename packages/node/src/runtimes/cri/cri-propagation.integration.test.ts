import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import type { ContainerConfig, Mount } from "../../runtime/index.ts";
import { CriRuntime } from "./cri-runtime.ts";
import { exampleContainer, examplePod, plainSecurity } from "./testing/example-pod.ts";
import { containerdSkip, PrivateContainerd, program } from "./testing.ts";

/** What it mounts is to be seen by the other one. */
const giver = "mkdir /v/inner && mount -t tmpfs inner /v/inner && echo hello > /v/inner/file && exec sleep 1000";
const taker = "until [ -e /v/inner/file ]; do sleep 0.1; done; cat /v/inner/file";

const uid = "0a1b2c3d-0000-4000-8000-000000000002";
const image = "busybox";
const volumeMounts = (mountPropagation: "Bidirectional" | "HostToContainer") => [
  { name: "v", mountPath: "/v", mountPropagation },
];
const description: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "both", namespace: "test", uid },
  spec: {
    volumes: [{ name: "v", emptyDir: {} }],
    containers: [
      { name: "giver", image, volumeMounts: volumeMounts("Bidirectional") },
      { name: "taker", image, volumeMounts: volumeMounts("HostToContainer") },
    ],
  },
};

describe("mounts that containers hand on, on a machine whose root is private", { skip: containerdSkip() }, () => {
  let containerd: PrivateContainerd;
  let runtime: CriRuntime;

  before(async () => {
    containerd = await PrivateContainerd.start();
    runtime = new CriRuntime(containerd);
  });

  after(async () => {
    runtime?.close();
    await containerd?.stop();
  });

  const volumes = async (what: "make" | "remove"): Promise<string> => {
    const script = join(import.meta.dirname, "testing/volumes-inside.ts");
    const enter = ["--target", String(containerd.pid), "--mount", "--", process.execPath];
    const command = [...enter, script, join(containerd.directory, "node"), what];
    const child = spawn(program("nsenter"), command, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.end(JSON.stringify(description));
    return text(child.stdout);
  };

  const table = () => readFile(`/proc/${containerd.pid}/mountinfo`, "utf8");

  const start = async (sandbox: string, config: ContainerConfig, pod: ReturnType<typeof examplePod>) => {
    const id = await runtime.createContainer(sandbox, config, pod);
    await runtime.startContainer(id);
    return id;
  };

  const ended = async (id: string) => {
    for (let tries = 1_200; tries > 0; tries--) {
      const all = (await runtime.list()).flatMap(({ containers }) => containers);
      const found = all.find((container) => container.id === id);
      if (found?.state === "exited") return found;
      await sleep(systemClock, 50);
    }
    throw new Error(`the container ${id} does not end`);
  };

  test("a container sees what another one mounts, and nothing is left of it", async () => {
    const [given = [], taken = []] = JSON.parse(await volumes("make")) as Mount[][];
    const find = (mounts: readonly Mount[]) => mounts.filter(({ containerPath }) => containerPath === "/v");
    const security = { ...plainSecurity, privileged: true };
    const pod = examplePod(containerd, "both", { security });
    const sandbox = await runtime.runSandbox(pod);
    await start(sandbox, exampleContainer("giver", giver, { mounts: find(given), security }), pod);
    const id = await start(sandbox, exampleContainer("taker", taker, { mounts: find(taken) }), pod);
    const { exitCode, logFile = "" } = await ended(id);
    assert.equal(exitCode, 0);
    assert.match(await readFile(logFile, "utf8"), /hello/);
    assert.match(await table(), /\/inner /, "also by the machine");
    await runtime.stopSandbox(sandbox);
    await runtime.removeSandbox(sandbox);
    await volumes("remove");
    assert.doesNotMatch(await table(), new RegExp(uid));
    assert.deepEqual(await readdir(join(containerd.directory, "node/pods")), []);
  });

  test("a directory of the machine that is not shared is refused in words that say so", async () => {
    const mount: Mount = { hostPath: containerd.directory, containerPath: "/v", readOnly: false };
    const pod = examplePod(containerd, "outside");
    const sandbox = await runtime.runSandbox(pod);
    const config = exampleContainer("main", "true", { mounts: [{ ...mount, propagation: "hostToContainer" }] });
    await assert.rejects(start(sandbox, config, pod), /is not a shared or slave mount/);
  });
});
