import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@fjord/base";
import { clusterConfig, type KubeClient, kubeconfigOf } from "@fjord/kube";
import { Authority, type ManagedProcess, type Site, siteFiles } from "@fjord/testbed";
import { freePort, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { openCgroups } from "../runtimes/process/cgroups.ts";
import { ProcessRuntime } from "../runtimes/process/index.ts";
import { scanProcesses, sendSignal } from "../runtimes/process/process-table.ts";
import { groupsOf } from "./test-control-groups.ts";
import { killControl, type LifeBed, openNamespace, type Part, startControl, until } from "./test-life-bed.ts";

export interface ProcessBedOptions {
  /** @default "process" */
  readonly runtime?: "process" | "simulated";
}

/** A node of the process runtime, run as an operator runs it and with a node's rights, on a real control plane. */
export class ProcessBed implements LifeBed {
  readonly site: Site;
  readonly admin: KubeClient;
  readonly nodeName = "edge";
  readonly namespace = "lives";
  readonly parts: readonly Part[] = ["node", "api", "etcd"];
  readonly node: ManagedProcess;
  readonly stateDirectory: string;
  readonly #testSite: TestSite;
  readonly #directory: string;
  readonly #cgroupRoot: string;

  private constructor(testSite: TestSite, admin: KubeClient, directory: string, node: ManagedProcess) {
    this.#testSite = testSite;
    this.site = testSite.site;
    this.admin = admin;
    this.#directory = directory;
    this.stateDirectory = join(directory, "state");
    this.#cgroupRoot = cgroupRoot(directory);
    this.node = node;
  }

  static async start(options: ProcessBedOptions = {}): Promise<ProcessBed> {
    const directory = await mkdtemp(join(tmpdir(), "fjord-lives-"));
    const testSite = await startTestSite({ components: "all" });
    const { site } = testSite;
    const admin = await openNamespace(site, "lives");
    const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
    const subject = { commonName: "system:node:edge", organizations: ["system:nodes"] };
    const { certificate: cert, key } = await authority.issue(subject, systemClock.now());
    const config = clusterConfig({ server: site.config.server, ca: authority.certificate, cert, key });
    const kubeconfig = join(directory, "kubeconfig");
    await writeFile(kubeconfig, await kubeconfigOf(config, "lives"), { mode: 0o600 });
    await mkdir(join(directory, "witness"));
    const flags = {
      kubeconfig,
      "node-name": "edge",
      "node-ip": "127.0.0.1",
      address: "127.0.0.1",
      port: String(await freePort()),
      "state-dir": join(directory, "state"),
      runtime: options.runtime ?? "process",
      "cgroup-root": cgroupRoot(directory),
      // Whatever else this machine is busy with is no reason to end the pods of a test.
      "eviction-hard": "memory.available<1Mi",
    };
    const node = site.addProcess({
      name: "fjord-node",
      file: process.execPath,
      args: [
        join(import.meta.dirname, "../cli.ts"),
        "run",
        ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      ],
      env: { PATH: process.env.PATH ?? "" },
    });
    await node.start();
    return new ProcessBed(testSite, admin, directory, node);
  }

  get witnessDirectory(): string {
    return join(this.#directory, "witness");
  }

  get place() {
    return { image: "none", hostPath: this.witnessDirectory };
  }

  async kill(part: Part): Promise<void> {
    if (part === "node") await this.node.kill();
    else if (part !== "runtime") await killControl(this.site, part);
  }

  async start(part: Part): Promise<void> {
    if (part === "node") await this.node.start();
    else if (part !== "runtime") await startControl(this.site, part);
  }

  traces(uid: string) {
    const sandboxes = this.#sandboxes(uid);
    const containers = sandboxes.flatMap((sandbox) => names(join(this.stateDirectory, "process", sandbox)));
    return { sandboxes: sandboxes.length, containers: containers.filter((name) => !name.includes(".")).length };
  }

  running(uid: string) {
    const found = scanProcesses().filter(({ pod, keeper }) => pod === uid && !keeper);
    return { containers: [...new Set(found.flatMap(({ container }) => container ?? []))], sandboxes: 0 };
  }

  remains(uid: string): string[] {
    const processes = scanProcesses().filter(({ pod }) => pod === uid);
    return [
      ...processes.map(({ pid, container }) => `process ${pid} of ${container}`),
      ...this.#sandboxes(uid).map((id) => `sandbox ${id}`),
      ...names(join(this.stateDirectory, "pods")).filter((name) => name === uid),
      ...names(join(this.stateDirectory, "logs")).filter((name) => name.endsWith(uid)),
      ...mounts().filter((mount) => mount.includes(uid)),
      ...simulatedPods(this.stateDirectory).filter((pod) => pod === uid),
      ...groupsOf(this.#cgroupRoot).filter((group) => group.includes(uid)),
    ];
  }

  surplus(pods: number): string[] {
    const sandboxes = this.#records();
    return sandboxes.length === pods ? [] : sandboxes.map(({ id, uid }) => `sandbox ${id} of ${uid}`);
  }

  crash(uid: string): void {
    for (const process of scanProcesses()) {
      if (process.pod === uid && !process.keeper) sendSignal(process, "SIGKILL");
    }
  }

  /** Kills whatever keeps the containers of a pod, and not the containers themselves. */
  killKeepers(uid: string): void {
    for (const process of scanProcesses()) {
      if (process.pod === uid && process.keeper) sendSignal(process, "SIGKILL");
    }
  }

  async powerCut(): Promise<void> {
    await this.node.kill();
    const uids = new Set(this.#records().map(({ uid }) => uid));
    await until("all processes of pods to be gone", () => {
      const left = scanProcesses().filter(({ pod }) => pod !== undefined && uids.has(pod));
      for (const process of left) sendSignal(process, "SIGKILL");
      return left.length === 0;
    });
  }

  powerOn(): Promise<void> {
    return this.node.start();
  }

  #sandboxes(uid: string): string[] {
    return this.#records()
      .filter((record) => record.uid === uid)
      .map(({ id }) => id);
  }

  #records(): { id: string; uid: string }[] {
    const root = join(this.stateDirectory, "process");
    return names(root).flatMap((id) => {
      const file = join(root, id, "sandbox.json");
      if (!existsSync(file)) return [];
      try {
        return { id, uid: JSON.parse(readFileSync(file, "utf8")).pod.uid as string };
      } catch {
        // Removed, or not yet whole, between two looks.
        return [];
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node.kill();
    if (existsSync(join(this.stateDirectory, "process"))) {
      const runtime = await ProcessRuntime.open({ stateDirectory: this.stateDirectory });
      for (const { id } of await runtime.list()) await runtime.removeSandbox(id);
      runtime.close();
    }
    await this.admin.close();
    await this.#testSite.stop();
    for (const mount of mounts()
      .filter((each) => each.startsWith(this.#directory))
      .reverse()) {
      execFileSync("umount", ["-l", mount]);
    }
    const cgroups = openCgroups();
    if (typeof cgroups !== "string") cgroups.remove(this.#cgroupRoot);
    await rm(this.#directory, { recursive: true, force: true });
  }
}

function cgroupRoot(directory: string): string {
  return `/${directory.slice(directory.lastIndexOf("/") + 1)}`;
}

function names(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function mounts(): string[] {
  const lines = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return lines.map((line) => line.split(" ")[1] ?? "").filter((mount) => mount !== "");
}

/** Uids of the pods that a simulated runtime has. */
function simulatedPods(stateDirectory: string): string[] {
  const file = join(stateDirectory, "simulated.json");
  if (!existsSync(file)) return [];
  const sandboxes = JSON.parse(readFileSync(file, "utf8")) as { pod: { uid: string } }[];
  return sandboxes.map(({ pod }) => pod.uid);
}
