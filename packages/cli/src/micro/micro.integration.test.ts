import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Site } from "@fjord/api";
import { KubeClient, loadClusterConfig, Node, Pod } from "@fjord/kube";
import { testedFjord } from "@fjord/testbed/testing";

const cli = testedFjord();
const SOON_MS = 60_000;
// Others may test on the same machine, and all of 127.0.0.0/8 is this machine.
const address = `127.${64 + Math.floor(Math.random() * 30)}.${Math.floor(Math.random() * 250)}.7`;
const services = `127.${160 + Math.floor(Math.random() * 40)}.0.0/16`;
/** By which the pod is known among all processes. */
const seconds = String(100_000 + Math.floor(Math.random() * 1e9));
let parent: string;
let directory: string;
let site: ChildProcess;
let client: KubeClient;

before(() => {
  parent = mkdtempSync(join(tmpdir(), "fjord-micro-"));
  directory = join(parent, "site");
});

after(async () => {
  site?.kill("SIGKILL");
  await client?.close();
  if (existsSync(directory)) await fjord("micro", "reset", `--state-dir=${directory}`).catch(() => {});
  rmSync(parent, { recursive: true, force: true });
});

test("a site on a machine without Kubernetes: it runs pods, is started again, and leaves nothing", async () => {
  await start();
  await eventually(async () => {
    const node = await client.get(Node, { name: "lively-wave" });
    return node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  });
  const introduced = async () => {
    const own = await client.get(Site, { name: "lively-wave" });
    const serves = own.status?.conditions?.some(({ reason }) => reason === "Serving");
    return own.spec.tier === "device" && own.spec.endpoints?.length === 1 && serves;
  };
  await eventually(introduced);
  assert.equal((await client.get(Node, { name: "lively-wave" })).metadata.labels?.["fjord.dev/tier"], "device");
  const log = await client.raw("GET", "/api/v1/nodes/lively-wave/proxy/logs/fjord.log");
  assert.match(log.body.toString("utf8"), / the node is registered node="lively-wave"\n/);
  await client.delete(Site, { name: "lively-wave" });
  // It comes back with all that the site was started with.
  await eventually(introduced);
  const name = { name: "hello", namespace: "default" };
  // Its service account comes with the namespace.
  await eventually(() =>
    client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: name,
      spec: { containers: [{ name: "main", image: "none", command: ["sleep", seconds] }] },
    } as Pod),
  );
  await eventually(async () => (await client.get(Pod, name)).status?.phase === "Running");
  // Running says that it was started: a moment later it is what its command says.
  const before = await eventually(() => sleepers()[0]);
  await assert.rejects(
    fjord("micro", "reset", `--state-dir=${directory}`),
    /the site in .* runs: nothing of it was removed[\s\S]*Stop its process first/,
  );
  // The agent is in the process that would go on without it.
  for (const force of [[], ["--force"]])
    await assert.rejects(
      fjord("uninstall", ...force, `--kubeconfig=${join(directory, "kubeconfig")}`),
      /a part of `fjord micro`[\s\S]*`fjord micro reset`[\s\S]*\[CLI_PART_OF_MICRO\]/,
    );
  await assert.rejects(
    fjord("init", "--no-wait", `--kubeconfig=${join(directory, "kubeconfig")}`),
    /with an agent of its own[\s\S]*\[CLI_AGENT_OF_MICRO\]/,
  );
  assert.ok(await introduced(), "and nothing of it was touched");

  await stop();
  assert.deepEqual(sleepers(), [before], "the pod goes on without the site");
  await start();
  await eventually(async () => (await client.get(Pod, name)).status?.phase === "Running");
  assert.deepEqual(sleepers(), [before], "and the site finds it again");

  await stop();
  await fjord("micro", "reset", `--state-dir=${directory}`);
  assert.deepEqual([sleepers(), existsSync(directory)], [[], false]);
});

test("bad options change nothing", async () => {
  const other = join(parent, "other");
  const run = (...flags: string[]) => fjord("micro", "run", `--state-dir=${other}`, ...flags);
  await assert.rejects(run("--name=Bad_Name"), /--name cannot be Bad_Name/);
  await assert.rejects(run("--dial-out", "--endpoint=https://a.example"), /--endpoint cannot be https:.*no/s);
  await assert.rejects(run("--api-port=0"), /--api-port cannot be 0: a port is a number/);
  await assert.rejects(run("--capacity=bogus/cpu=abc"), /\nerror: --capacity bogus\/cpu=abc: "abc" is not a quantity/);
  await assert.rejects(fjord("micro", "reset", `--state-dir=${parent}`), /was not made by `fjord micro run`/);
  assert.equal(existsSync(other), false);
  await assert.rejects(fjord("micro", "rum"), /unknown command 'micro rum' \(did you mean run\?\)/);
});

test("a directory with other things in it is neither taken nor removed", async () => {
  const plain = join(parent, "plain");
  mkdirSync(plain);
  writeFileSync(join(plain, "f"), "");
  for (const command of ["run", "reset"])
    await assert.rejects(fjord("micro", command, `--state-dir=${plain}`), /\[MICRO_NOT_(EMPTY|A_SITE)\]/, command);
  assert.deepEqual(readdirSync(plain), ["f"]);
});

test("a new site that cannot start leaves nothing, whichever part it is", async () => {
  const taken = createServer().listen(0, address);
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  const failed = join(parent, "new", "failed");
  try {
    for (const option of ["--api-port", "--peer-port"]) {
      const flags = ["--name=failed", `--address=${address}`, `--state-dir=${failed}`, "--page-port=off"];
      const run = fjord("micro", "run", ...flags, "--service-range=127.98.0.0/16", `${option}=${port}`);
      await assert.rejects(run, /another program does|address already in use/, option);
      assert.equal(existsSync(join(parent, "new")), false, option);
    }
  } finally {
    taken.close();
  }
});

async function start(): Promise<void> {
  const flags = ["--name=lively-wave", "--tier=device", `--address=${address}`, `--state-dir=${directory}`];
  site = spawn(process.execPath, [cli, "micro", "run", ...flags, `--service-range=${services}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [site.stdout, site.stderr]) stream?.on("data", (chunk) => (text += chunk));
  await eventually(async () => text.includes("kubectl get nodes") || site.exitCode !== null);
  assert.equal(site.exitCode, null, text);
  await client?.close();
  client = new KubeClient(await loadClusterConfig({ env: {}, kubeconfig: join(directory, "kubeconfig") }), {
    closeGraceMs: 100,
  });
}

async function stop(): Promise<void> {
  site.kill("SIGTERM");
  const [code] = await once(site, "exit");
  assert.equal(code, 0);
}

function fjord(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(process.execPath, [cli, ...args]);
}

async function eventually<T>(isSo: () => T | Promise<T>): Promise<NonNullable<T>> {
  const end = performance.now() + SOON_MS;
  for (let last: unknown; ; await pause(100)) {
    try {
      const answer = await isSo();
      if (answer) return answer;
    } catch (error) {
      last = error;
    }
    assert.ok(performance.now() < end, `not within ${SOON_MS} ms: ${isSo} (${last})`);
  }
}

/** The processes of the pod, whoever started them. */
function sleepers(): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").endsWith(`sleep\0${seconds}\0`);
    } catch {
      return false;
    }
  });
}
