import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request as sendRequest } from "node:https";
import type { Socket } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import type { HostileRequest } from "./hostile-request.ts";
import type { ServerMemory, ServerStarted } from "./test-server.ts";

export interface HostileAnswer {
  readonly code: number;
  readonly text: string;
  readonly milliseconds: number;
}

/** The longest that is waited for an answer. */
const PATIENCE_MS = 30_000;

/** A server that may die, and ways to ask it what nobody should. */
export class HostileClient implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #started: ServerStarted;
  readonly #agent: Agent;
  /** What was asked last by each connection. */
  readonly #last = new WeakMap<Socket, string>();
  /** What the server has said of itself: its troubles. */
  readonly said: string[] = [];

  private constructor(child: ChildProcess, started: ServerStarted) {
    this.#child = child;
    this.#started = started;
    const { ca, cert, key } = started;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 32, ca, cert, key });
    child.stderr?.on("data", (chunk) => this.said.push(String(chunk)));
  }

  static async start(): Promise<HostileClient> {
    const child = fork(join(import.meta.dirname, "test-server.ts"), [], {
      execArgv: ["--expose-gc", "--max-semi-space-size=8"],
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    const [started] = (await once(child, "message")) as [ServerStarted];
    return new HostileClient(child, started);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** With nothing that could be collected. */
  async memory(): Promise<ServerMemory> {
    const answer = once(this.#child, "message");
    this.#child.send("memory");
    return ((await answer) as [ServerMemory])[0];
  }

  send({ method, path, headers, body }: HostileRequest): Promise<HostileAnswer> {
    const { hostname, port } = new URL(this.#started.server);
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const options = { hostname, port, agent: this.#agent, method, path, headers: { ...headers, ...length }, signal };
      const request = sendRequest(options, (response) => {
        const chunks: Buffer[] = [];
        const finish = () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ code: response.statusCode ?? 0, text, milliseconds: performance.now() - began });
        };
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", finish);
        // A watch goes on for as long as it is let.
        if (response.statusCode === 200 && response.headers["content-length"] === undefined && isWatch(path)) {
          response.on("error", finish);
          request.destroy();
        } else response.on("error", reject);
      });
      // What went before on the same connection may be what went wrong.
      let before = "nothing";
      request.on("socket", (socket) => {
        before = this.#last.get(socket) ?? before;
        this.#last.set(socket, `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 200)}`);
      });
      request.on("error", (error: Error & { rawPacket?: Buffer }) => {
        const took = `after ${Math.round(performance.now() - began)} ms`;
        const raw = error.rawPacket === undefined ? "" : `: ${JSON.stringify(error.rawPacket.toString("latin1"))}`;
        reject(new Error(`${error.message}${raw} ${took}, after ${before}`));
      });
      request.end(body);
    });
  }

  /** Bytes as they are, on a connection of their own; all that comes back until it is closed. */
  say(bytes: Buffer | string, { cutsOff = false, isAnonymous = false } = {}): Promise<string> {
    const { hostname, port } = new URL(this.#started.server);
    const { ca, cert, key } = this.#started;
    return new Promise((resolve) => {
      const who = isAnonymous ? {} : { cert, key };
      const socket = connect({ host: hostname, port: Number(port), ca, ...who }, () => {
        socket.write(bytes);
        if (cutsOff) socket.destroy();
        else setTimeout(() => socket.end(), 5);
      });
      socket.setTimeout(2_000, () => socket.destroy());
      let all = "";
      socket.on("data", (chunk) => {
        all += chunk.toString("latin1");
      });
      socket.on("close", () => resolve(all));
      socket.on("error", () => {});
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy();
    if (!this.isAlive) return;
    const closed = once(this.#child, "exit");
    this.#child.disconnect();
    await closed;
  }
}

const isWatch = (path: string) => /[?&]watch=/.test(path) || path.includes("/watch/") || path.includes("follow=");
