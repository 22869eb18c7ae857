import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NetworkCommandFailed, WireguardMissing } from "./errors.ts";

export interface NodeNetworkOptions {
  /** What stands before every command; tests put them into a network namespace. @default none */
  readonly prefix?: readonly string[];
  /** @default "wireguard-go" */
  readonly wireguardProgram?: string;
}

/** The network of the node that this process is on: the commands that look at it and change it. */
export class NodeNetwork {
  readonly #prefix: readonly string[];
  readonly #wireguardProgram: string;

  constructor(options: NodeNetworkOptions = {}) {
    this.#prefix = options.prefix ?? [];
    this.#wireguardProgram = options.wireguardProgram ?? "wireguard-go";
  }

  /** All of it, or nothing. */
  async nft(text: string): Promise<void> {
    if (text !== "") await this.#run(["nft", "-f", "-"], text);
  }

  /** The same, with what it makes as nft shows it, in JSON. It takes as long as all that there is, and not as what is changed. */
  async nftShown(text: string): Promise<string> {
    // To print JSON it takes what it reads for that too, and has to begin again: which a pipe cannot.
    const directory = await mkdtemp(join(tmpdir(), "fjord-nft-"));
    try {
      const file = join(directory, "change");
      await writeFile(file, text, { mode: 0o600 });
      return await this.#run(["nft", "-e", "-j", "-f", file]);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** A table as JSON; undefined where there is none. */
  async nftTable(table: string): Promise<string | undefined> {
    try {
      return await this.#run(["nft", "-j", "list", "table", ...table.split(" ")]);
    } catch (error) {
      if (error instanceof NetworkCommandFailed && error.message.includes("No such file")) return undefined;
      throw error;
    }
  }

  ip(...args: string[]): Promise<string> {
    return this.#run(["ip", ...args]);
  }

  async ipBatch(family: 4 | 6, lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.#run(["ip", `-${family}`, "-batch", "-"], `${lines.join("\n")}\n`);
  }

  /** Makes an interface that WireGuard serves. Its process goes on when this one ends: traffic does not wait for a gateway. */
  startWireguard(name: string): Promise<void> {
    const [program = "", ...args] = [...this.#prefix, this.#wireguardProgram, name];
    return new Promise((resolve, reject) => {
      // It puts itself into the background, where it would hold on to streams.
      const child = spawn(program, args, { stdio: "ignore" });
      child.on("error", (cause) =>
        reject(new WireguardMissing({ program: this.#wireguardProgram, reason: cause.message }, { cause })),
      );
      child.on("exit", (code) => {
        if (code === 0) resolve();
        else reject(new NetworkCommandFailed({ command: `wireguard-go ${name}`, reason: `it ended with ${code}` }));
      });
    });
  }

  #run(command: readonly string[], input = ""): Promise<string> {
    const [program = "", ...args] = [...this.#prefix, ...command];
    const title = command.slice(0, 6).join(" ");
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
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
