import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { type Clock, systemClock } from "@fjord/base";
import { ProcessStartError } from "./errors.ts";
import { identify, isAlive, isPaused, residentMemory, sendSignal } from "./process-identity.ts";
import type { ProcessRecord } from "./process-record.ts";
import { waitFor } from "./wait.ts";

export interface ManagedProcessOptions {
  /** Told whenever the process was started or stopped, so that the state file can follow. */
  changed(record: ProcessRecord): void;
  /** Environment beside the record's own, the mark of the bed among it. */
  environment: Readonly<Record<string, string>>;
  /** A `setpriv` that makes the kernel kill the process when the one that started it ends, even by SIGKILL. */
  dieWithParent?: string;
  clock?: Clock;
}

/** One process of a site. It may be driven by another program than the one that started it. */
export class ManagedProcess {
  #record: ProcessRecord;
  readonly #options: ManagedProcessOptions;
  readonly #clock: Clock;

  constructor(record: ProcessRecord, options: ManagedProcessOptions) {
    this.#record = record;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get name(): string {
    return this.#record.name;
  }

  get record(): ProcessRecord {
    return this.#record;
  }

  get pid(): number | undefined {
    return this.running ? this.#record.identity?.pid : undefined;
  }

  get running(): boolean {
    return this.#record.identity !== undefined && isAlive(this.#record.identity);
  }

  get paused(): boolean {
    return this.#record.identity !== undefined && isPaused(this.#record.identity);
  }

  /** Resident memory in bytes. */
  get memory(): number {
    return this.#record.identity === undefined ? 0 : residentMemory(this.#record.identity);
  }

  /** Starts it unless it runs. */
  async start(): Promise<void> {
    if (this.running) return;
    const { file, args, name, site, env } = this.#record;
    const command =
      this.#options.dieWithParent === undefined
        ? [file, ...args]
        : [this.#options.dieWithParent, "--pdeathsig", "KILL", "--", file, ...args];
    const log = openSync(this.#record.log, "a", 0o600);
    try {
      const child = spawn(command[0] as string, command.slice(1), {
        // A session of its own: Ctrl-C in the terminal is for the command, which then ends its processes in order.
        detached: true,
        stdio: ["ignore", log, log],
        env: { ...this.#options.environment, ...env },
      });
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", (error) =>
          reject(new ProcessStartError({ process: name, site, file, reason: error.message }, { cause: error })),
        );
      });
      child.unref();
      this.#set(identify(child.pid as number));
    } finally {
      closeSync(log);
    }
  }

  /** Stops it from running until `resume`, as SIGSTOP does: its connections stay open and silent. */
  async pause(): Promise<void> {
    await this.#signal("SIGSTOP");
    await waitFor(() => this.paused || !this.running, { clock: this.#clock, timeout: 5_000, interval: 5 });
  }

  async resume(): Promise<void> {
    await this.#signal("SIGCONT");
  }

  /** Ends it at once (SIGKILL), and returns when it is gone. */
  async kill(): Promise<void> {
    await this.#signal("SIGKILL");
    await this.#gone(10_000);
    this.#set(undefined);
  }

  /** Asks it to end (SIGTERM), and kills it when it has not within `grace` milliseconds. */
  async stop(grace = 5_000): Promise<void> {
    await this.#signal("SIGTERM");
    await this.#signal("SIGCONT");
    if (!(await this.#gone(grace))) await this.kill();
    this.#set(undefined);
  }

  /** Stops and starts it; readiness is for the caller to wait for. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The last lines that it wrote. */
  logTail(lines = 10): string {
    return readFileSync(this.#record.log, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    if (this.#record.identity !== undefined) sendSignal(this.#record.identity, signal);
  }

  async #gone(timeout: number): Promise<boolean> {
    return (await waitFor(() => !this.running, { clock: this.#clock, timeout, interval: 10 })) ?? false;
  }

  #set(identity: ProcessRecord["identity"]): void {
    const { identity: _, ...rest } = this.#record;
    this.#record = identity === undefined ? rest : { ...rest, identity };
    this.#options.changed(this.#record);
  }
}
