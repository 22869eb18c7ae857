import { existsSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { sleep, systemClock } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { type Bed, imageNames, type ManagedProcess, type RealNode, type Site } from "@fjord/testbed";
import { startTestBed, testNodes } from "@fjord/testbed/testing";
import { groupsOf } from "./test-control-groups.ts";
import { killControl, type LifeBed, openNamespace, type Part, startControl } from "./test-life-bed.ts";

/** A node of ours with containerd, in namespaces of its own. */
export class CriBed implements LifeBed {
  readonly site: Site;
  readonly admin: KubeClient;
  readonly namespace = "lives";
  readonly parts: readonly Part[] = ["node", "runtime", "api", "etcd"];
  readonly #bed: Bed;
  readonly #node: RealNode;
  /** How many shims keep nothing since the runtime was killed; undefined where it is to be counted anew. */
  #idleShims: number | undefined = 0;

  private constructor(bed: Bed, site: Site, node: RealNode, admin: KubeClient) {
    this.#bed = bed;
    this.site = site;
    this.#node = node;
    this.admin = admin;
  }

  static async start(): Promise<CriBed> {
    const provider = testNodes({ kubelet: "fjord" });
    const bed = await startTestBed({ sites: 1, nodes: { count: 1, provider }, timeout: 240_000 });
    const site = bed.site("site-1");
    const [node] = provider.nodes(site);
    if (node === undefined) throw new Error("the site has no node");
    await mkdir(join(node.directory, "lib/witness"));
    return new CriBed(bed, site, node, await openNamespace(site, "lives"));
  }

  get node(): ManagedProcess {
    return this.#node.process("kubelet");
  }

  get nodeName(): string {
    return this.#node.name;
  }

  get witnessDirectory(): string {
    return join(this.#node.directory, "lib/witness");
  }

  get place() {
    return { image: imageNames.busybox, hostPath: "/var/lib/witness" };
  }

  async kill(part: Part): Promise<void> {
    if (part === "api" || part === "etcd") await killControl(this.site, part);
    else await this.#process(part).kill();
    if (part === "runtime") this.#idleShims = undefined;
  }

  /** Stops it where it is, until it is resumed. */
  async freezeRuntime(): Promise<void> {
    await this.#process("runtime").pause();
  }

  async resumeRuntime(): Promise<void> {
    await this.#process("runtime").resume();
  }

  /** Whether the pod has a control group, with or without anything in it. */
  hasGroup(uid: string): boolean {
    return groupsOf(this.#cgroup, "memory").some((group) => group.includes(uid));
  }

  async start(part: Part): Promise<void> {
    if (part === "api" || part === "etcd") await startControl(this.site, part);
    else await this.#process(part).start();
    if (part === "runtime") await this.#untilServing();
  }

  /** Where the machine is short of watches for files, containerd begins without serving pods, and has to begin again. */
  async #untilServing(): Promise<void> {
    const pid = readText(join(this.#node.directory, "pid"))?.trim();
    const port = /:271A \S+ 0A /;
    for (let tries = 0; tries < 20; tries++) {
      for (const end = systemClock.now() + 5_000; systemClock.now() < end; await sleep(systemClock, 50)) {
        if (port.test(readText(`/proc/${pid}/net/tcp`) ?? "")) return;
      }
      await this.#process("runtime").kill();
      await this.#process("runtime").start();
    }
  }

  #process(part: "node" | "runtime"): ManagedProcess {
    return this.#node.process(part === "node" ? "kubelet" : "containerd");
  }

  /** Its control groups: the sandbox' own comes first. */
  traces(uid: string) {
    const groups = this.#groups(uid);
    return { sandboxes: Math.min(groups.length, 1), containers: Math.max(groups.length - 1, 0) };
  }

  running(uid: string) {
    const ids = this.#groups(uid).filter(hasProcesses).map(lastName);
    const sandboxes = new Set(names(join(this.#criDirectory, "sandboxes")));
    return {
      containers: ids.filter((id) => !sandboxes.has(id)),
      sandboxes: ids.filter((id) => sandboxes.has(id)).length,
    };
  }

  /** Of each container and sandbox of a pod, for one controller. */
  #groups(uid: string): string[] {
    const groups = groupsOf(this.#cgroup, "memory").filter((group) => group.includes(uid));
    return groups.filter((group) => /^[0-9a-f]{64}$/.test(lastName(group)));
  }

  get #cgroup(): string {
    return `/${this.site.layout.nodeNetwork?.bridge}/${this.nodeName}`;
  }

  get #criDirectory(): string {
    return join(this.#node.directory, "lib/containerd/io.containerd.grpc.v1.cri");
  }

  remains(uid: string): string[] {
    const state = join(this.#node.directory, "lib/fjord-node");
    return [
      ...groupsOf(this.#cgroup).filter((group) => group.includes(uid)),
      ...names(join(state, "pods")).filter((name) => name === uid),
      ...names(join(state, "logs")).filter((name) => name.endsWith(uid)),
      ...this.#mounts().filter((mount) => mount.includes(uid)),
    ];
  }

  #mounts(): string[] {
    const pid = readText(join(this.#node.directory, "pid"))?.trim();
    return (readText(`/proc/${pid}/mounts`) ?? "").split("\n");
  }

  /** Command lines of what containerd has started for each sandbox: of those that keep something running, or nothing. */
  #shims(isIdle: boolean): string[] {
    const groups = groupsOf(this.#cgroup, "memory").filter((group) => lastName(group) === "daemons");
    return groups
      .flatMap(processesOf)
      .filter((pid) => ((readText(`/proc/${pid}/task/${pid}/children`) ?? "").trim() === "") === isIdle)
      .map((pid) => (readText(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " "))
      .filter((line) => line.includes("containerd-shim"));
  }

  surplus(pods: number): string[] {
    const networks = join(this.#node.directory, "lib/cni/networks/fjord");
    const found = {
      sandboxes: names(join(this.#criDirectory, "sandboxes")),
      shims: this.#shims(false),
      addresses: names(networks).filter((name) => /^\d+\.\d+\.\d+\.\d+$/.test(name)),
    };
    const wrong = Object.entries(found).flatMap(([kind, all]) =>
      all.length === pods ? [] : `${kind}: ${all.join(", ")}`,
    );
    if (wrong.length > 0) return wrong;
    // One that keeps nothing is left of a containerd that was killed before it had noted for which sandbox it was: nobody
    // else can know of it. Nothing else may leave one.
    const idle = this.#shims(true);
    this.#idleShims ??= idle.length;
    return idle.length > this.#idleShims ? [`idle shims: ${idle.join(", ")}`] : [];
  }

  crash(uid: string): void {
    const { containers } = this.running(uid);
    for (const group of this.#groups(uid).filter((each) => containers.includes(lastName(each)))) {
      for (const pid of processesOf(group)) killHard(pid);
    }
  }

  async powerCut(): Promise<void> {
    for (const name of ["kube-proxy", "kubelet", "containerd", "namespaces"] as const) {
      await this.#node.process(name).kill();
    }
  }

  async powerOn(): Promise<void> {
    await this.#node.startNamespaces();
    for (const name of ["containerd", "kubelet", "kube-proxy"] as const) await this.#node.process(name).start();
  }

  /** For whoever looks for the cause of a failure (`FJORD_LIVES_LOGS`): what the node and its containerd have written. */
  async #keepLogs(directory: string): Promise<void> {
    for (const part of ["node", "runtime"] as const) {
      const { log } = this.#process(part).record;
      await mkdir(directory, { recursive: true });
      await copyFile(log, join(directory, `${part}.log`));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { FJORD_LIVES_LOGS } = process.env;
    if (FJORD_LIVES_LOGS) await this.#keepLogs(FJORD_LIVES_LOGS);
    await this.admin.close();
    await this.#bed.stop();
  }
}

function hasProcesses(group: string): boolean {
  return processesOf(group).length > 0;
}

function processesOf(group: string): number[] {
  const lines = (readText(join(group, "cgroup.procs")) ?? "").split("\n");
  return lines.map(Number).filter((pid) => pid > 0);
}

function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It may end by itself before it is told to.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function names(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // What is looked at may go at any moment.
    return undefined;
  }
}
