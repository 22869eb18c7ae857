import type { ExecSyncResult } from "../../runtime/index.ts";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed, CriCommandTimedOut } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { RuntimeService } from "./proto/messages.ts";

/** The runtime itself counts in seconds; it is given this much longer before it is taken to hang. */
const MARGIN = 5_000;

/** Runs a short command without any streams, as probes need it. */
export async function execSync(
  client: CriClient,
  id: string,
  command: readonly string[],
  timeoutMs: number,
): Promise<ExecSyncResult> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const program = command[0] ?? "a command";
  try {
    const { stdout, stderr, exitCode } = await client.call(
      RuntimeService.execSync,
      { containerId: id, cmd: [...command], timeout: BigInt(seconds) },
      { action: `run ${program} in the container ${id}`, timeout: seconds * 1000 + MARGIN },
    );
    return { exitCode, output: Buffer.concat([stdout, stderr]).toString("utf8") };
  } catch (error) {
    if (!(error instanceof CriCallFailed) || !isTimeout(error)) throw error;
    throw new CriCommandTimedOut({ program, id, seconds }, { cause: error });
  }
}

/** Some say it by their status, some by their words. */
function isTimeout(error: CriCallFailed): boolean {
  return error.status === grpcStatus.deadlineExceeded || /timed? ?out|deadline exceeded/i.test(error.message);
}
