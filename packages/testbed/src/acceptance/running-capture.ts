import assert from "node:assert/strict";
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

  /** Resolves once packets are seen by it. */
  static async start(kubeconfig: string, ...args: readonly string[]): Promise<RunningCapture> {
    const running = new RunningCapture(startFjord(kubeconfig, "network", "capture", ...args));
    await eventually("the capture has begun", async () => {
      assert.equal(running.#child.exitCode, null, running.stderr);
      return running.stderr.includes("packets of the link with");
    });
    return running;
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
