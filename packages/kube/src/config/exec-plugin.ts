import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "@fjord/base";
import type { Credential } from "./cluster-config.ts";
import type { WritableCredentials } from "./credentials.ts";
import {
  ExecPluginFailed,
  ExecPluginInteractive,
  ExecPluginNotFound,
  ExecPluginOutput,
  ExecPluginTimeout,
} from "./errors.ts";
import {
  type ExecApiVersion,
  type ExecCluster,
  execInfo,
  type ParsedExecCredential,
  parseExecCredential,
} from "./exec-credential.ts";
import { systemReason } from "./system-reason.ts";

export interface ExecPluginOptions {
  /** Where the plugin is configured, for messages. */
  where: string;
  apiVersion: ExecApiVersion;
  /** A bare name is looked up in PATH; anything else is an absolute path. */
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  installHint?: string;
  interactiveMode: "Never" | "IfAvailable" | "Always";
  /** Given where the plugin asks for it. */
  cluster?: ExecCluster;
  /** The environment that the plugin inherits. */
  baseEnv: Readonly<Record<string, string | undefined>>;
  /** Standard input is a terminal that the plugin may use. */
  interactive: boolean;
  timeoutMs: number;
  clock: Clock;
}

// One refusal usually comes as many at once, one for each request under way; they ask for one new credential.
const burstMs = 1_000;
const outputLimit = 1024 * 1024;
const stderrLimit = 1024;

/** Credentials from a client.authentication.k8s.io plugin, kept until they expire or the server refuses them. */
export class ExecPlugin implements WritableCredentials {
  readonly #options: ExecPluginOptions;
  #latest: (ParsedExecCredential & { readonly obtainedAt: number }) | undefined;
  #running: Promise<Credential> | undefined;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  async current(): Promise<Credential> {
    if (this.#latest !== undefined && this.#options.clock.now() < this.#latest.expiresAt)
      return this.#latest.credential;
    this.#running ??= this.#obtain().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  rejected(): void {
    if (this.#latest !== undefined && this.#options.clock.now() - this.#latest.obtainedAt >= burstMs)
      this.#latest = undefined;
  }

  kubeconfigUser(): Record<string, unknown> {
    const { apiVersion, command, args, env, installHint, interactiveMode, cluster } = this.#options;
    const variables = Object.entries(env).map(([name, value]) => ({ name, value }));
    return {
      exec: {
        apiVersion,
        command,
        ...(args.length > 0 ? { args } : {}),
        ...(variables.length > 0 ? { env: variables } : {}),
        ...(installHint === undefined ? {} : { installHint }),
        interactiveMode,
        ...(cluster === undefined ? {} : { provideClusterInfo: true }),
      },
    };
  }

  async #obtain(): Promise<Credential> {
    const { where, command, apiVersion, clock } = this.#options;
    const stdout = await runPlugin(this.#options);
    const parsed = parseExecCredential(stdout, apiVersion, clock.now());
    if (typeof parsed === "string") throw new ExecPluginOutput({ where, command, problem: parsed });
    this.#latest = { ...parsed, obtainedAt: clock.now() };
    return parsed.credential;
  }
}

function runPlugin(options: ExecPluginOptions): Promise<string> {
  const { where, command, clock, timeoutMs } = options;
  const terminal = options.interactive && options.interactiveMode !== "Never";
  if (options.interactiveMode === "Always" && !terminal) throw new ExecPluginInteractive({ where, command });
  return new Promise((resolve, reject) => {
    const plugin = start(options, terminal);
    const stdout = collect(plugin.stdout, outputLimit);
    // A plugin that has the terminal talks to its user there.
    const stderr = collect(plugin.stderr, stderrLimit);
    const cancelTimeout = clock.after(timeoutMs, () => {
      stop(plugin, !terminal);
      reject(new ExecPluginTimeout({ where, command, seconds: timeoutMs / 1000, stderr: quoted(stderr()) }));
    });
    plugin.on("error", (error) => {
      cancelTimeout();
      reject(notStarted(options, error));
    });
    plugin.on("close", (code, signal) => {
      cancelTimeout();
      if (code === 0) return resolve(stdout());
      const reason = code === null ? `it was ended by ${signal}` : `exit code ${code}`;
      reject(new ExecPluginFailed({ where, command, reason, stderr: quoted(stderr()) }));
    });
  });
}

function start(options: ExecPluginOptions, terminal: boolean): ChildProcess {
  const info = execInfo(options.apiVersion, terminal, options.cluster);
  return spawn(options.command, options.args, {
    env: { ...options.baseEnv, ...options.env, KUBERNETES_EXEC_INFO: info },
    // A group of its own would take the terminal's Ctrl-C away from it.
    detached: !terminal,
    stdio: [terminal ? "inherit" : "ignore", "pipe", terminal ? "inherit" : "pipe"],
  });
}

// Its own children may hold the pipes open: they are in its process group and end with it.
function stop(plugin: ChildProcess, group: boolean): void {
  if (!group || !killGroup(plugin.pid)) plugin.kill("SIGKILL");
  plugin.stdout?.destroy();
  plugin.stderr?.destroy();
}

function killGroup(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(-pid, "SIGKILL");
  } catch {
    // Gone already, or a system without process groups: the plugin itself is left to end.
    return false;
  }
}

function notStarted(options: ExecPluginOptions, error: Error): Error {
  const { where, command, installHint } = options;
  const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
  const reason = missing ? (command.includes("/") ? "no such file" : "not found in PATH") : systemReason(error);
  const hint = installHint === undefined ? "" : `\n${installHint.trim()}`;
  return new ExecPluginNotFound({ where, command, reason, hint }, { cause: error });
}

function collect(stream: NodeJS.ReadableStream | null, limit: number): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (size < limit) chunks.push(chunk.subarray(0, limit - size));
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function quoted(stderr: string): string {
  const text = stderr.trim();
  return text === "" ? "" : `: ${text}`;
}
