import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent, request as sendRequest } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";

interface KubeconfigFile {
  readonly clusters: readonly { cluster: { server: string; "certificate-authority-data": string } }[];
  readonly users: readonly { user: { "client-certificate-data": string; "client-key-data": string } }[];
}

export interface ProgramAnswer {
  readonly code: number;
  readonly body: unknown;
}

/** The program `microkube` on a data directory, started and killed again and again. */
export class TestProgram {
  readonly #program: string;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #agent: Agent | undefined;
  #server = "";

  constructor(program: string, folder: string, port: number) {
    this.#program = program;
    this.#folder = folder;
    this.#port = port;
  }

  /** Without waiting for it. */
  spawn(survives: "process" | "machine"): ChildProcess {
    const args = [this.#program, `--data-dir=${this.#folder}`, `--port=${this.#port}`, `--survives=${survives}`];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
    return this.#child;
  }

  /** Until it serves. */
  async start(survives: "process" | "machine"): Promise<void> {
    const child = this.spawn(survives);
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`microkube has ended with ${code} while it started`);
    });
    ended.catch(() => {});
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    await Promise.race([once(lines, "line"), ended]);
    const config = parse(await readFile(join(this.#folder, "kubeconfig"), "utf8")) as KubeconfigFile;
    const cluster = config.clusters[0]?.cluster;
    const user = config.users[0]?.user;
    const decoded = (text = "") => Buffer.from(text, "base64").toString();
    this.#server = cluster?.server ?? "";
    this.#agent ??= new Agent({
      keepAlive: true,
      ca: decoded(cluster?.["certificate-authority-data"]),
      cert: decoded(user?.["client-certificate-data"]),
      key: decoded(user?.["client-key-data"]),
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Undefined: nobody knows whether it has happened. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    type = "application/json",
  ): Promise<ProgramAnswer | undefined> {
    try {
      const response = await this.#request(method, path, body === undefined ? undefined : JSON.stringify(body), type);
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      // What is cut off has no end, and is no JSON.
      return { code: response.statusCode ?? 0, body: JSON.parse(text) };
    } catch {
      return undefined;
    }
  }

  /** The lines of a watch, until it ends for whatever reason. */
  async *watch(path: string): AsyncGenerator<{ type: string; object: Record<string, unknown> }> {
    let rest = "";
    try {
      const response = await this.#request("GET", path, undefined, "");
      for await (const chunk of response.setEncoding("utf8")) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line);
      }
    } catch (error) {
      if (error instanceof SyntaxError) throw error;
    }
  }

  close(): void {
    this.#agent?.destroy();
  }

  #request(method: string, path: string, body: string | undefined, type: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.#server);
      const headers = body === undefined ? {} : { "content-type": type, "content-length": Buffer.byteLength(body) };
      const options = { hostname, port, path, method, headers, ...(this.#agent && { agent: this.#agent }) };
      const request = sendRequest(options, resolve);
      request.on("error", reject);
      request.end(body);
    });
  }
}
