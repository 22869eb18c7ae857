import { Writable } from "node:stream";
import { describeError, FjordError } from "@fjord/base";
import type { ExecSyncResult, Runtime } from "../../runtime/index.ts";
import { failure, LONGEST_OUTPUT, type ProbeResult, success } from "./probe-result.ts";

/** Succeeds where the command ends with 0. */
export async function probeExec(
  runtime: Pick<Runtime, "exec" | "execSync">,
  id: string,
  command: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeResult> {
  try {
    const { exitCode, output } = await runCommand(runtime, id, command, signal, timeoutMs);
    return exitCode === 0 ? success : failure(output);
  } catch (error) {
    if (signal.aborted || isTimeout(error)) {
      return failure(`command timed out: "${command.join(" ")}" timed out after ${timeoutMs / 1000}s`);
    }
    return { outcome: "error", message: describeError(error) };
  }
}

/** A runtime that counts the time itself may be a moment ahead of the signal. */
function isTimeout(error: unknown): boolean {
  return error instanceof FjordError && error.code.endsWith("TIMED_OUT");
}

/** Runs a command in a container; gives its exit code and what it wrote. One that must end soon may go a quicker way. */
export async function runCommand(
  runtime: Pick<Runtime, "exec" | "execSync">,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<ExecSyncResult> {
  if (runtime.execSync !== undefined && timeoutMs !== undefined) return runtime.execSync(id, command, timeoutMs);
  const chunks: Buffer[] = [];
  let length = 0;
  const collector = () =>
    new Writable({
      write(chunk: Buffer, _, done) {
        if (length < LONGEST_OUTPUT) chunks.push(chunk.subarray(0, LONGEST_OUTPUT - length));
        length += chunk.length;
        done();
      },
    });
  const exitCode = await runtime.exec(id, command, { stdout: collector(), stderr: collector(), tty: false }, signal);
  return { exitCode, output: Buffer.concat(chunks).toString("utf8") };
}
