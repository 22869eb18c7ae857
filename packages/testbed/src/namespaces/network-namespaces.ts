import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { removeDeadSockets } from "./dead-sockets.ts";

const execute = promisify(execFile);

/** What the namespaces of one process begin with: whoever finds them knows whose they were. */
const OURS = /^fjnet(\d+)-/;

let count = 0;

/** Network namespaces and cables between them, for packets that are nobody else's business. They go with their processes. */
export class NetworkNamespaces implements AsyncDisposable {
  readonly #prefix = `fjnet${process.pid}-${count++}`;
  readonly #names = new Set<string>();

  /** Makes one, with its loopback up and forwarding on. */
  async add(name: string): Promise<void> {
    if (this.#names.size === 0) await removeLeftovers();
    this.#names.add(name);
    await execute("ip", ["netns", "add", this.fullName(name)]);
    await this.ip(name, "link", "set", "dev", "lo", "up");
    const settings = [
      "net/ipv4/ip_forward=1",
      "net/ipv6/conf/all/forwarding=1",
      "net/ipv4/fib_multipath_hash_policy=1",
    ];
    // An address that is tried out first is of no use for a second.
    settings.push("net/ipv6/conf/default/accept_dad=0", "net/ipv6/conf/all/accept_dad=0");
    const script = settings.map((setting) => `echo ${setting.split("=")[1]} > /proc/sys/${setting.split("=")[0]}`);
    await this.run(name, "sh", "-c", script.join("\n"));
  }

  /** A cable with one end in each, both up. */
  async cable(a: string, interfaceA: string, b: string, interfaceB: string): Promise<void> {
    const other = ["peer", "name", interfaceB, "netns", this.fullName(b)];
    await this.ip(a, "link", "add", interfaceA, "type", "veth", ...other);
    await this.ip(a, "link", "set", "dev", interfaceA, "up");
    await this.ip(b, "link", "set", "dev", interfaceB, "up");
  }

  /** A cable with one end there and the other one in a bridge of the host, which has that end until the namespace goes. */
  async plug(name: string, inside: string, bridge: string, outside: string): Promise<void> {
    await execute("ip", ["link", "add", outside, "type", "veth", "peer", "name", inside, "netns", this.fullName(name)]);
    await execute("ip", ["link", "set", "dev", outside, "master", bridge, "up"]);
    await this.ip(name, "link", "set", "dev", inside, "up");
  }

  /** What stands before a command so that it runs there. */
  prefix(name: string): string[] {
    return ["ip", "netns", "exec", this.fullName(name)];
  }

  async run(name: string, ...command: string[]): Promise<string> {
    const [program = "", ...args] = [...this.prefix(name), ...command];
    const { stdout } = await execute(program, args, { maxBuffer: 64 << 20 });
    return stdout;
  }

  /** `ip` for a namespace. */
  async ip(name: string, ...args: string[]): Promise<string> {
    const { stdout } = await execute("ip", ["-n", this.fullName(name), ...args]);
    return stdout;
  }

  /** Starts a process there; it ends with the namespace. */
  spawn(name: string, ...command: string[]): ChildProcess {
    const [program = "", ...args] = [...this.prefix(name), ...command];
    return spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  }

  /** As a node that is switched off: all that runs there ends with it. */
  async remove(name: string): Promise<void> {
    this.#names.delete(name);
    await removeNamespace(this.fullName(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#names) await removeNamespace(this.fullName(name), PATIENCE_MS);
    this.#names.clear();
  }

  fullName(name: string): string {
    return `${this.#prefix}-${name}`;
  }
}

/** What ends by itself within this takes its sockets with it. */
const PATIENCE_MS = 2_000;

/** Ends what runs in it, or it would go on to exist. */
async function removeNamespace(fullName: string, patienceMs = 0): Promise<void> {
  let left = await endAll(fullName, patienceMs > 0 ? "SIGTERM" : "SIGKILL");
  for (const end = Date.now() + patienceMs; left > 0 && Date.now() < end; left = (await pidsIn(fullName)).length)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (left > 0 && patienceMs > 0) await endAll(fullName, "SIGKILL");
  await execute("ip", ["netns", "delete", fullName]);
}

/** How many there were. */
async function endAll(fullName: string, signal: NodeJS.Signals): Promise<number> {
  const pids = await pidsIn(fullName);
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended by itself.
    }
  }
  return pids.length;
}

async function pidsIn(fullName: string): Promise<number[]> {
  const { stdout } = await execute("ip", ["netns", "pids", fullName]).catch(() => ({ stdout: "" }));
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map(Number);
}

/** What processes have left that were killed. */
async function removeLeftovers(): Promise<void> {
  await removeDeadSockets();
  const { stdout } = await execute("ip", ["netns", "list"]);
  for (const line of stdout.split("\n")) {
    const [name = ""] = line.split(" ");
    const pid = OURS.exec(name)?.[1];
    // Somebody else may be removing it too.
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await removeNamespace(name).catch(() => {});
  }
}
