import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Clock, silentLogger } from "@fjord/base";
import { LEAN_MICRO } from "@fjord/cli/lean";
import { type ClusterConfig, loadClusterConfig } from "@fjord/kube";
import { resetNode } from "@fjord/node/reset";
import {
  findProcess,
  identify,
  isAlive,
  type ProcessIdentity,
  residentMemory,
  sendSignal,
} from "../../process-identity.ts";
import { waitFor } from "../../wait.ts";
import type { DemoSitePlan } from "../demo-plan.ts";
import { DemoSiteFailed } from "../errors.ts";
import type { DemoSite, SubstrateStart } from "../substrate.ts";

/** What is written down of a running site, so that the next demo can end it. */
interface SiteRecord {
  readonly process: ProcessIdentity;
}

/** Compilers take a fifth of what it computes until the shop answers, and are not done with much before that is over. */
const WITHOUT_COMPILERS = ["--no-opt", "--no-maglev"];
const READY_MS = 90_000;
const STOP_MS = 10_000;
const METRICS_PORT = 7445;

/** A site that is `fjord micro`, in a process of its own. */
export class MicroSite implements DemoSite {
  readonly plan: DemoSitePlan;
  readonly #directory: string;
  readonly #clock: Clock;
  #child: ChildProcess | undefined;
  #isEnding = false;

  constructor(plan: DemoSitePlan, parent: string, clock: Clock) {
    this.plan = plan;
    this.#directory = join(parent, plan.name);
    this.#clock = clock;
  }

  get name(): string {
    return this.plan.name;
  }

  get kubeconfig(): string {
    return join(this.#state, "kubeconfig");
  }

  /** Resident bytes of its process. */
  get memory(): number {
    const identity = this.#recorded();
    return identity === undefined ? 0 : residentMemory(identity);
  }

  config(): Promise<ClusterConfig> {
    return loadClusterConfig({ env: {}, kubeconfig: this.kubeconfig });
  }

  /** Resolves when its API, its node and its agent are there. */
  async start({ env, fjord, page, control, signal, told }: SubstrateStart): Promise<void> {
    const { name, tier, address, serviceRange, podRange, capacity } = this.plan;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const log = openSync(this.#log, "a", 0o600);
    const flags = [
      `--name=${name}`,
      `--tier=${tier}`,
      `--address=${address}`,
      `--service-range=${serviceRange}`,
      `--pod-range=${podRange}`,
      `--page-files=${page}`,
      "--page-actions",
      `--page-demo=${control}`,
      `--capacity=cpu=${capacity.cpu}`,
      `--capacity=memory=${capacity.memory}Gi`,
      `--capacity=pods=${capacity.pods}`,
      this.#stateFlag,
    ];
    const settings = [...LEAN_MICRO, ...WITHOUT_COMPILERS];
    this.#child = spawn(process.execPath, [...settings, fjord, "micro", "run", ...flags], {
      stdio: ["ignore", log, log],
      // Ctrl-C is the demo's: it ends its sites in its own order.
      detached: true,
      env,
    });
    closeSync(log);
    const identity = identify(this.#child.pid ?? 0);
    if (identity !== undefined) writeFileSync(this.#record, JSON.stringify({ process: identity } satisfies SiteRecord));
    const ready = await waitFor(() => this.#isReady(), {
      clock: this.#clock,
      timeout: READY_MS,
      interval: 100,
      signal,
    });
    if (ready !== true) throw this.#failed(`it was not ready within ${READY_MS / 1000} s`);
    this.#child.once("exit", (status, by) => {
      if (this.#isEnding || signal.aborted) return;
      told(`${name} has ended (${by ?? `status ${status}`}): Ctrl-C, and begin anew. It wrote to ${this.#log}`);
    });
  }

  /** Ends it with all its pods, and removes what it kept: also one that an earlier demo has left. */
  async remove(): Promise<void> {
    await this.#end();
    const node = join(this.#state, "node");
    if (existsSync(join(node, "node.db"))) {
      const signal = new AbortController().signal;
      const means = { clock: this.#clock, random: Math.random, logger: silentLogger, signal };
      const who = { env: {}, home: homedir(), isRoot: process.getuid?.() === 0 };
      await resetNode({ stateDir: node, dryRun: false }, { ...means, ...who });
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** It stands still as a whole, as one does whose power has failed. */
  async cut(): Promise<void> {
    this.#send("SIGSTOP");
  }

  async heal(): Promise<void> {
    this.#send("SIGCONT");
  }

  /** The end of what it wrote. */
  tail(): string {
    try {
      return readFileSync(this.#log, "utf8").trimEnd().split("\n").slice(-5).join("\n");
    } catch {
      return "";
    }
  }

  async #end(): Promise<void> {
    this.#isEnding = true;
    // A demo that was killed in the moment of starting it has written nothing down.
    const identity = this.#recorded() ?? findProcess(this.#stateFlag);
    if (identity === undefined || !sendSignal(identity, "SIGTERM")) return;
    // One that was cut off hears nothing else before this.
    sendSignal(identity, "SIGCONT");
    const ended = () => waitFor(() => !isAlive(identity), { clock: this.#clock, timeout: STOP_MS });
    if ((await ended()) === true) return;
    sendSignal(identity, "SIGKILL");
    await ended();
  }

  async #isReady(): Promise<boolean> {
    const { exitCode, signalCode } = this.#child ?? {};
    if (typeof signalCode === "string") throw this.#failed(`it was ended by ${signalCode}`);
    if (exitCode !== null) throw this.#failed(`it ended with status ${exitCode}`);
    const answer = await fetch(`http://${this.plan.address}:${METRICS_PORT}/readyz`).catch(() => undefined);
    await answer?.body?.cancel();
    return answer?.ok === true;
  }

  #failed(how: string): Error {
    return new DemoSiteFailed({ site: this.name, how, tail: this.tail() });
  }

  #send(signal: NodeJS.Signals): void {
    const identity = this.#recorded();
    if (identity !== undefined) sendSignal(identity, signal);
  }

  #recorded(): ProcessIdentity | undefined {
    try {
      return (JSON.parse(readFileSync(this.#record, "utf8")) as SiteRecord).process;
    } catch {
      return undefined;
    }
  }

  get #state(): string {
    return join(this.#directory, "site");
  }

  /** Among all processes only this site's has it. */
  get #stateFlag(): string {
    return `--state-dir=${this.#state}`;
  }

  get #log(): string {
    return join(this.#directory, "log");
  }

  get #record(): string {
    return join(this.#directory, "process.json");
  }
}
