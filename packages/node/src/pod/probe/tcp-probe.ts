import { connect } from "node:net";
import { failure, type ProbeResult, success } from "./probe-result.ts";

/** Succeeds where a connection is taken. */
export async function probeTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host, port, signal });
      socket.once("connect", () => {
        socket.destroy();
        resolve();
      });
      socket.once("error", reject);
    });
    return success;
  } catch (error) {
    const reason = signal.aborted ? "i/o timeout" : (error as Error).message;
    return failure(`dial tcp ${host}:${port}: ${reason}`);
  }
}
