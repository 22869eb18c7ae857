import { Writable } from "node:stream";
import { describeError } from "@fjord/base";
import type { Runtime } from "../../runtime/index.ts";
import { failure, LONGEST_OUTPUT, type ProbeResult, success } from "./probe-result.ts";

/** Succeeds where the command ends with 0. */
export async function probeExec(
  runtime: Pick<Runtime, "exec">,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<ProbeResult> {
  try {
    const { exitCode, output } = await runCommand(runtime, id, command, signal);
    return exitCode === 0 ? success : failure(output);
  } catch (error) {
    if (signal.aborted) return failure(`command timed out: "${command.join(" ")}" did not end in time`);
    return { outcome: "error", message: describeError(error) };
  }
}

/** Runs a command in a container; gives its exit code and what it wrote. */
export async function runCommand(
  runtime: Pick<Runtime, "exec">,
  id: string,
  command: readonly string[],
  signal: AbortSignal,
): Promise<{ exitCode: number; output: string }> {
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
