import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { FjordError, sleep, systemClock } from "@fjord/base";
import { CriClient } from "./cri-client.ts";
import { type CgroupMount, cgroupMounts, makeCgroup } from "./pod-cgroups.ts";
import { RuntimeService } from "./proto/messages.ts";
import { testImages, writeImageArchive } from "./testing/busybox-image.ts";
import {
  cniConfig,
  containerdConfig,
  guardianScript,
  holdingRunc,
  joinScript,
  namespaceScript,
} from "./testing/scripts.ts";

export { testImages } from "./testing/busybox-image.ts";

const run = promisify(execFile);
const PROGRAMS = ["containerd", "containerd-shim-runc-v2", "ctr", "runc", "busybox", "ip", "unshare", "nsenter", "tar"];
const CNI_FOLDERS = ["/opt/cni/bin", "/usr/lib/cni"];
/** In a network of its own, where nobody else can have it. */
const STREAM_PORT = 10_010;

/**
 * For node:test's `skip`: false where a private containerd can run, else why not. With FJORD_REQUIRE_KUBERNETES=1 root
 * hears it as an error: there a skip would hide that nothing was tested.
 */
export function containerdSkip(): string | false {
  const reasons = PROGRAMS.filter((name) => which(name) === undefined).map((name) => `no ${name}`);
  if (process.getuid?.() !== 0) reasons.push("containerd needs root");
  if (cniFolder() === undefined) reasons.push(`no CNI plugins in ${CNI_FOLDERS.join(" or ")}`);
  if (reasons.length === 0) return false;
  const reason = `no containerd here: ${reasons.join("; ")}`;
  if (process.env.FJORD_REQUIRE_KUBERNETES === "1" && process.getuid?.() === 0) {
    throw new Error(`FJORD_REQUIRE_KUBERNETES=1, but ${reason}`);
  }
  return reason;
}

/**
 * A containerd for one test: its own directories, control groups and network. A guardian removes all of it when the test
 * stops it or ends, however it ends.
 */
export class PrivateContainerd implements AsyncDisposable {
  readonly directory: string;
  readonly socket: string;
  readonly cgroups: readonly CgroupMount[];
  /** Control group that everything of it is below. */
  readonly cgroup: string;
  readonly #guardian: ChildProcess;
  #holder: ChildProcess | undefined;
  #daemon: ChildProcess | undefined;

  private constructor(directory: string) {
    this.directory = directory;
    this.socket = join(directory, "containerd.sock");
    this.cgroups = cgroupMounts(readFileSync("/proc/mounts", "utf8"));
    this.cgroup = `/${basename(directory)}`;
    const groups = this.cgroups.map((mount) => join(mount.directory, this.cgroup));
    this.#guardian = spawn("/bin/sh", ["-c", guardianScript, "guardian", directory, ...groups], {
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
    });
  }

  /** Starts it, with the images of `testImages`; `canHold`: with a runc that can be held. */
  static async start(options: { canHold?: boolean } = {}): Promise<PrivateContainerd> {
    const containerd = new PrivateContainerd(await mkdtemp(join(tmpdir(), "fjord-cri-")));
    try {
      await containerd.#prepare(options.canHold ?? false);
      await containerd.startDaemon();
      const archive = await writeImageArchive(program("busybox"), containerd.directory);
      await containerd.ctr("images", "import", archive);
      return containerd;
    } catch (error) {
      await containerd.stop();
      throw error;
    }
  }

  /** Runs containerd's own client on what pods use. */
  async ctr(...args: string[]): Promise<string> {
    const { stdout } = await run(program("ctr"), ["--address", this.socket, "--namespace", "k8s.io", ...args]);
    return stdout;
  }

  /** Starts the daemon, also after it was killed; resolves when it takes calls. */
  async startDaemon(): Promise<void> {
    const config = join(this.directory, "containerd.toml");
    this.#daemon = this.#spawnInside([program("containerd"), "--config", config], "containerd.log");
    await this.#waitFor(() => this.#answers(), "containerd does not answer");
  }

  /** As a crash would: containers go on. */
  async killDaemon(): Promise<void> {
    const daemon = this.#daemon;
    if (daemon?.exitCode !== null || daemon.signalCode !== null) return;
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
  }

  /** Where its CRI keeps how far a container has come. */
  statusFile(container: string): string {
    return join(this.directory, "root/io.containerd.grpc.v1.cri/containers", container, "status");
  }

  /** Where runc notes the first process of a container. */
  pidFile(container: string): string {
    return join(this.directory, "state/io.containerd.runtime.v2.task/k8s.io", container, "init.pid");
  }

  /** A connection inside of its network, where its streaming server is. */
  readonly dial = (host: string, port: number): Duplex => {
    const target = String(this.#holder?.pid);
    const child = spawn(
      program("nsenter"),
      ["--target", target, "--net", "--", program("busybox"), "nc", host, `${port}`],
      {
        stdio: ["pipe", "pipe", "ignore"],
      },
    );
    child.stdin.on("error", () => {});
    child.stdout.on("end", () => duplex.push(null));
    child.stdout.on("data", (piece: Buffer) => duplex.push(piece) || child.stdout.pause());
    const duplex = new Duplex({
      read: () => void child.stdout.resume(),
      // Like a socket that the other end has closed: what is written is lost, what came can still be read.
      write: (piece: Buffer, _encoding, done) => void child.stdin.write(piece, () => done()),
      final: (done) => void child.stdin.end(() => done()),
      destroy: (error, done) => {
        child.kill();
        done(error);
      },
    });
    return duplex;
  };

  /** A process in its namespaces. */
  get pid(): number {
    return this.#holder?.pid ?? 0;
  }

  async stop(): Promise<void> {
    if (this.#guardian.exitCode !== null) return;
    const ended = once(this.#guardian, "exit");
    this.#guardian.stdin?.end();
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Lets runc make or start what it is told to, and not say so, until the function returned is called. */
  async hold(step: "create" | "start"): Promise<() => Promise<void>> {
    const file = join(this.directory, `hold-${step}`);
    await writeFile(file, "");
    return () => rm(file, { force: true });
  }

  async #prepare(canHold: boolean): Promise<void> {
    const { directory } = this;
    for (const mount of this.cgroups) await makeCgroup(mount, `${this.cgroup}/daemons`);
    await mkdir(join(directory, "cni"));
    await writeFile(join(directory, "cni/10-test.conflist"), cniConfig);
    const options = { directory, cni: cniFolder() ?? "", pause: testImages.pause, streamPort: STREAM_PORT };
    const runc = join(directory, "runc");
    if (canHold) await writeFile(runc, holdingRunc(program("runc")), { mode: 0o755 });
    await writeFile(join(directory, "containerd.toml"), containerdConfig({ ...options, ...(canHold && { runc }) }));
    const command = [program("unshare"), "--mount", "--net", "--propagation", "private", "--", "/bin/sh", "-c"];
    this.#holder = this.#join([...command, namespaceScript, "namespaces", directory], ["ignore", "pipe", "inherit"]);
    if (this.#holder.stdout !== null) await once(this.#holder.stdout, "data");
  }

  #spawnInside(command: readonly string[], log: string): ChildProcess {
    const target = String(this.#holder?.pid);
    const logged = ["/bin/sh", "-c", 'log=$1; shift; exec "$@" >> "$log" 2>&1', "sh", join(this.directory, log)];
    const enter = [program("nsenter"), "--target", target, "--mount", "--net", "--", ...logged, ...command];
    return this.#join(enter, ["ignore", "ignore", "inherit"]);
  }

  #join(command: readonly string[], stdio: ("ignore" | "pipe" | "inherit")[]): ChildProcess {
    const files = this.cgroups.map((mount) => join(mount.directory, this.cgroup, "daemons/cgroup.procs"));
    return spawn("/bin/sh", ["-c", joinScript, "join", ...files, "--", ...command], { stdio });
  }

  /** It listens before its CRI has found what ran when it ended. */
  async #answers(): Promise<boolean> {
    const client = new CriClient({ socket: this.socket, clock: systemClock });
    try {
      await client.call(RuntimeService.listContainers, {}, { action: "list containers", timeout: 1000 });
      return true;
    } catch (error) {
      if (error instanceof FjordError) return false;
      throw error;
    } finally {
      client.close();
    }
  }

  async #waitFor(condition: () => Promise<boolean>, otherwise: string): Promise<void> {
    for (let tries = 300; !(await condition()); tries--) {
      if (tries === 0) throw new Error(`${otherwise}: see ${join(this.directory, "containerd.log")}`);
      await sleep(systemClock, 50);
    }
  }
}

function cniFolder(): string | undefined {
  return CNI_FOLDERS.find((folder) => existsSync(join(folder, "ptp")));
}

/** Where a program of the machine is. */
export function program(name: string): string {
  const path = which(name);
  if (path === undefined) throw new Error(`there is no ${name}`);
  return path;
}

function which(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
