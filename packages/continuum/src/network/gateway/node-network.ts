import { type ChildProcess, type ChildProcessWithoutNullStreams, type StdioOptions, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { NetworkCommandFailed, WireguardMissing } from "./errors.ts";

export interface NodeNetworkOptions {
  /** What stands before every command; tests put them into a network namespace. @default none */
  readonly prefix?: readonly string[];
  /** @default "wireguard-go" */
  readonly wireguardProgram?: string;
  /** How long a command may take. @default 60,000 */
  readonly longestMs?: number;
}

const LONGEST_MS = 60_000;

/** Commands of which the kernel may still tell. */
const REMEMBERED = 64;

/** The kernel goes by the larger one of two settings: 1 is strict, 2 is not. */
const ALLOW_DETOURS = `cd /proc/sys/net/ipv4/conf
one=$(cat "$1/rp_filter") all=$(cat all/rp_filter)
if [ "$one" -lt 2 ] && [ "$all" -lt 2 ] && [ $((one + all)) -gt 0 ]; then echo 2 > "$1/rp_filter"; fi`;

/** Of the range that means nothing beyond a wire. Nobody is reached by it, and nothing is sent from it. */
export const NOBODYS_ADDRESS = "169.254.74.43";

/** The network of the node that this process is on: the commands that look at it and change it. */
export class NodeNetwork {
  readonly #prefix: readonly string[];
  readonly #wireguardProgram: string;
  readonly #longestMs: number;
  /** The last processes of this one's that have run. */
  readonly #own: number[] = [];
  #changedAt = Number.NEGATIVE_INFINITY;
  #runningChanges = 0;

  constructor(options: NodeNetworkOptions = {}) {
    this.#prefix = options.prefix ?? [];
    this.#wireguardProgram = options.wireguardProgram ?? "wireguard-go";
    this.#longestMs = options.longestMs ?? LONGEST_MS;
  }

  /** All of it, or nothing. */
  async nft(text: string): Promise<void> {
    if (text !== "") await this.#run(["nft", "-f", "-"], text);
  }

  /**
   * The same, with what it makes as nft shows it, in JSON. It takes as long as all that there is, and not as what is changed. Undefined where the disk takes no
   * more, and nothing was done.
   */
  async nftShown(text: string): Promise<string | undefined> {
    // To print JSON it takes what it reads for that too, and has to begin again: which a pipe cannot. The file has no name, so that whoever is killed leaves none.
    const file = await namelessFile(text).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      return await this.#run(["nft", "-e", "-j", "-f", "/proc/self/fd/3"], "", "nft -e -j -f", file.fd);
    } finally {
      await file.close();
    }
  }

  /** A table as JSON; undefined where there is none. */
  nftTable(table: string): Promise<string | undefined> {
    return this.#listed(table);
  }

  /** The same without what is in sets, which may be much that packets have put there. */
  nftTerse(table: string): Promise<string | undefined> {
    return this.#listed(table, "-t");
  }

  /** How many flows the kernel remembers at most; undefined where it does not say. */
  async rememberedFlows(): Promise<number | undefined> {
    const text = await this.#run(["cat", "/proc/sys/net/netfilter/nf_conntrack_max"]).catch(() => "");
    return Number(text) || undefined;
  }

  async #listed(table: string, ...options: readonly string[]): Promise<string | undefined> {
    try {
      return await this.#run(["nft", ...options, "-j", "list", "table", ...table.split(" ")]);
    } catch (error) {
      if (error instanceof NetworkCommandFailed && error.message.includes("No such file")) return undefined;
      throw error;
    }
  }

  ip(...args: string[]): Promise<string> {
    const isLook = args.includes("show") || args.includes("-json");
    return isLook ? this.#run(["ip", ...args]) : this.#changing(this.#run(["ip", ...args]));
  }

  /** Whether a process is, or was lately, one of this one's commands. */
  isOwn(pid: number): boolean {
    return this.#own.includes(pid);
  }

  /** When a command of `ip` has last changed something, by `performance.now`; now, where one does. */
  get changedAt(): number {
    return this.#runningChanges > 0 ? performance.now() : this.#changedAt;
  }

  /** Runs a command that tells line by line; resolves when it has ended, as when `signal` aborts. */
  follow(command: readonly string[], line: (text: string) => void, signal: AbortSignal): Promise<void> {
    const [program = "", ...args] = [...this.#prefix, ...command];
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
      const end = () => void child.kill("SIGKILL");
      signal.addEventListener("abort", end, { once: true });
      child.on("error", () => resolve());
      child.on("close", () => {
        signal.removeEventListener("abort", end);
        resolve();
      });
      createInterface({ input: child.stdout }).on("line", line);
    });
  }

  /** Starts a command that is talked with by its streams. */
  talk(command: readonly string[]): ChildProcessWithoutNullStreams {
    const [program = "", ...args] = [...this.#prefix, ...command];
    return spawn(program, args, { stdio: "pipe" });
  }

  async ipBatch(family: 4 | 6, lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#changing(this.#run(["ip", `-${family}`, "-batch", "-"], `${lines.join("\n")}\n`));
  }

  /** What sort of interface that is, such as `wireguard` or `tun`; undefined where there is none. */
  async linkKind(name: string): Promise<string | undefined> {
    try {
      const [link] = JSON.parse(await this.ip("-json", "-details", "link", "show", "dev", name)) as {
        linkinfo?: { info_kind?: string };
      }[];
      return link?.linkinfo?.info_kind ?? "";
    } catch (error) {
      if (error instanceof NetworkCommandFailed && error.message.includes("does not exist")) return undefined;
      throw error;
    }
  }

  /**
   * Has packets taken that come in by this interface though their answers go out by another. Where the node takes none such, that interface alone is changed: it
   * is asked only whether there is a way back at all, and has an address, as without one the kernel is strict whatever it was told.
   */
  async allowDetours(name: string): Promise<void> {
    await this.ip("-4", "address", "replace", `${NOBODYS_ADDRESS}/32`, "dev", name, "scope", "host");
    await this.#run(["sh", "-c", ALLOW_DETOURS, "sh", name], "", "allow detours");
  }

  /** `wg`. What it reads from /proc/self/fd/0 has to come by a pipe, which this process's own streams are not. */
  wg(args: readonly string[], input?: string): Promise<string> {
    if (input === undefined) return this.#run(["wg", ...args]);
    return this.#run(["sh", "-c", 'cat | wg "$@"', "wg", ...args], input, `wg ${args.slice(0, 2).join(" ")}`);
  }

  /** Makes an interface that WireGuard serves. Its process goes on when this one ends: traffic does not wait for a gateway. */
  startWireguard(name: string): Promise<void> {
    const [program = "", ...args] = [...this.#prefix, this.#wireguardProgram, name];
    return new Promise((resolve, reject) => {
      // It puts itself into the background, where it would hold on to streams.
      const child = spawn(program, args, { stdio: "ignore" });
      this.#limit(child, `wireguard-go ${name}`, reject);
      child.on("error", (cause) =>
        reject(new WireguardMissing({ program: this.#wireguardProgram, reason: cause.message }, { cause })),
      );
      child.on("exit", (code) => {
        if (code === 0) resolve();
        else reject(new NetworkCommandFailed({ command: `wireguard-go ${name}`, reason: `it ended with ${code}` }));
      });
    });
  }

  async #changing(running: Promise<string>): Promise<string> {
    this.#runningChanges++;
    try {
      return await running;
    } finally {
      this.#runningChanges--;
      this.#changedAt = performance.now();
    }
  }

  /** Everything waits for a command: one that hangs is ended, and tried again by whoever wants it. */
  #limit(child: ChildProcess, command: string, reject: (error: Error) => void): void {
    const giveUp = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new NetworkCommandFailed({ command, reason: `it did not end within ${this.#longestMs / 1000} s` }));
    }, this.#longestMs);
    child.once("close", () => clearTimeout(giveUp)).once("error", () => clearTimeout(giveUp));
  }

  #run(
    command: readonly string[],
    input = "",
    title = command.slice(0, 6).join(" "),
    ...files: readonly number[]
  ): Promise<string> {
    const [program = "", ...args] = [...this.#prefix, ...command];
    return new Promise((resolve, reject) => {
      const stdio: StdioOptions = ["pipe", "pipe", "pipe", ...files];
      const child = spawn(program, args, { stdio }) as ChildProcessWithoutNullStreams;
      // What stands before a command becomes that command, with the number that it has.
      if (child.pid !== undefined) this.#own.splice(0, Math.max(0, this.#own.push(child.pid) - REMEMBERED));
      this.#limit(child, title, reject);
      const output: Buffer[] = [];
      let complaint = "";
      child.stdout.on("data", (chunk: Buffer) => void output.push(chunk));
      child.stderr.on("data", (chunk: Buffer) => {
        complaint += chunk.toString();
      });
      child.on("error", (cause) =>
        reject(new NetworkCommandFailed({ command: title, reason: cause.message }, { cause })),
      );
      child.on("close", (code) => {
        if (code === 0) return resolve(Buffer.concat(output).toString());
        const reason = complaint.trim().split("\n").slice(0, 3).join(" ") || `it ended with ${code}`;
        reject(new NetworkCommandFailed({ command: title, reason }));
      });
      // It may end before it has read everything.
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
  }
}

async function namelessFile(text: string): Promise<FileHandle> {
  const path = join(tmpdir(), `fjord-nft-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  try {
    await rm(path);
    await file.writeFile(text);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}
