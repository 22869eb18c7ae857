import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { startFjord } from "../agents/index.ts";
import { eventually } from "./acceptance-bed.ts";

/** `fjord network capture` while it runs. */
export class RunningCapture implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  stdout = "";
  stderr = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close").then(([code]) => code as number | null);
    child.stdout?.on("data", (text) => {
      this.stdout += text;
    });
    child.stderr?.on("data", (text) => {
      this.stderr += text;
    });
  }

  /** Resolves once packets are seen by it. A gateway that has just lost its lease carries no link for a moment: the command is given again, as it advises. */
  static async start(kubeconfig: string, ...args: readonly string[]): Promise<RunningCapture> {
    let running = new RunningCapture(startFjord(kubeconfig, "network", "capture", ...args));
    return await eventually("the capture has begun", async () => {
      if (running.stderr.includes("packets of the link with")) return running;
      if (running.#child.exitCode === null) return undefined;
      const why = running.stderr;
      running = new RunningCapture(startFjord(kubeconfig, "network", "capture", ...args));
      throw new Error(`it ended: ${why}`);
    });
  }

  /** With what it has ended. */
  async end(signal?: "SIGINT" | "SIGKILL"): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    return await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}
