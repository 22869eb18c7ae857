import type { CgroupDriver } from "./cgroup-parent.ts";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { CgroupDriver as Driver, RuntimeService } from "./proto/messages.ts";

/** Who makes control groups for a runtime. Older ones do not tell; their configuration does. */
export async function cgroupDriverOf(client: CriClient, signal?: AbortSignal): Promise<CgroupDriver> {
  const options = { action: "ask the runtime for its control group driver", ...(signal && { signal }) };
  try {
    const { linux } = await client.call(RuntimeService.runtimeConfig, {}, options);
    return linux?.cgroupDriver === Driver.SYSTEMD ? "systemd" : "cgroupfs";
  } catch (error) {
    if (!(error instanceof CriCallFailed) || error.status !== grpcStatus.unimplemented) throw error;
  }
  const { info } = await client.call(RuntimeService.status, { verbose: true }, options);
  return /"SystemdCgroup"\s*:\s*true/i.test(info.config ?? "") ? "systemd" : "cgroupfs";
}
