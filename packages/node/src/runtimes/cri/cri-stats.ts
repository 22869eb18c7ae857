import { readFile } from "node:fs/promises";
import type { ContainerStats, RuntimeSandbox, SandboxStats, Usage } from "../../runtime/index.ts";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import { milliseconds } from "./listing.ts";
import { type InterfaceTraffic, parseNetDev } from "./net-dev.ts";
import type { PodLister } from "./pod-lister.ts";
import * as cri from "./proto/messages.ts";

export interface NodeStats {
  sandboxes: SandboxStats[];
  containers: ContainerStats[];
}

/** What pods use, as the runtime measures it. */
export class CriStats {
  readonly #client: CriClient;
  readonly #lister: PodLister;
  /** False once the runtime has said that it does not measure whole pods. */
  #podStats = true;
  /** First process of each sandbox, where it was asked for. */
  readonly #processes = new Map<string, number>();

  constructor(client: CriClient, lister: PodLister) {
    this.#client = client;
    this.#lister = lister;
  }

  async stats(signal?: AbortSignal): Promise<NodeStats> {
    const options = signal && { signal };
    const [listed, { stats }, podStats] = await Promise.all([
      this.#lister.list(signal),
      this.#client.call(cri.RuntimeService.listContainerStats, {}, { action: "measure containers", ...options }),
      this.#listPodStats(signal),
    ]);
    const ready = listed.filter((sandbox) => sandbox.state === "ready");
    const byId = new Map(podStats.map((each) => [each.attributes?.id ?? "", each.linux]));
    const sandboxes = await Promise.all(ready.map((sandbox) => this.#sandbox(sandbox, byId.get(sandbox.id))));
    this.#keepOnly(ready);
    return { sandboxes, containers: containerStats(ready, stats) };
  }

  async #listPodStats(signal?: AbortSignal): Promise<cri.PodSandboxStats[]> {
    if (!this.#podStats) return [];
    const options = { action: "measure pods", ...(signal && { signal }) };
    try {
      return (await this.#client.call(cri.RuntimeService.listPodSandboxStats, {}, options)).stats;
    } catch (error) {
      if (!(error instanceof CriCallFailed)) throw error;
      if (error.status === grpcStatus.unimplemented) this.#podStats = false;
      // One pod that goes away while it is measured fails the call for all of them, in some versions.
      return [];
    }
  }

  async #sandbox(sandbox: RuntimeSandbox, linux: cri.LinuxPodSandboxStats | undefined): Promise<SandboxStats> {
    const usage = linux && usageOf(linux.cpu, linux.memory);
    const processes = linux?.process?.processCount?.value;
    // Without an address it is on the machine's own network, whose traffic is not the pod's.
    const own = sandbox.addresses.length > 0;
    const network = own ? (networkOf(linux?.network) ?? (await this.#readNetwork(sandbox.id))) : undefined;
    return {
      id: sandbox.id,
      pod: sandbox.pod,
      ...(usage !== undefined && { usage }),
      ...(network !== undefined && { network }),
      ...(processes !== undefined && { processes: Number(processes) }),
    };
  }

  /** From the kernel, where the runtime does not measure it. Undefined where that is not permitted, or too late. */
  async #readNetwork(sandbox: string): Promise<InterfaceTraffic[] | undefined> {
    try {
      const pid = this.#processes.get(sandbox) ?? (await this.#askProcess(sandbox));
      if (pid === undefined) return undefined;
      this.#processes.set(sandbox, pid);
      return parseNetDev(await readFile(`/proc/${pid}/net/dev`, "utf8"));
    } catch (error) {
      if (error instanceof CriCallFailed || (error as NodeJS.ErrnoException).code !== undefined) return undefined;
      throw error;
    }
  }

  async #askProcess(sandbox: string): Promise<number | undefined> {
    const { info } = await this.#client.call(
      cri.RuntimeService.podSandboxStatus,
      { podSandboxId: sandbox, verbose: true },
      { action: `read the status of sandbox ${sandbox}` },
    );
    const pid = /"pid"\s*:\s*(\d+)/.exec(info.info ?? "")?.[1];
    return pid === undefined || pid === "0" ? undefined : Number(pid);
  }

  #keepOnly(sandboxes: readonly RuntimeSandbox[]): void {
    const ids = new Set(sandboxes.map(({ id }) => id));
    for (const id of this.#processes.keys()) if (!ids.has(id)) this.#processes.delete(id);
  }
}

function containerStats(sandboxes: readonly RuntimeSandbox[], stats: readonly cri.ContainerStats[]): ContainerStats[] {
  const byId = new Map(stats.map((each) => [each.attributes?.id ?? "", each]));
  return sandboxes.flatMap(({ pod, containers }) =>
    containers.flatMap(({ id, name, state, startedAt = 0 }) => {
      const measured = byId.get(id);
      const usage = measured && usageOf(measured.cpu, measured.memory);
      if (state !== "running" || usage === undefined) return [];
      const { usedBytes, inodesUsed } = measured?.writableLayer ?? {};
      return [
        {
          id,
          name,
          pod,
          startedAt,
          usage,
          ...(usedBytes !== undefined && {
            rootFs: { usedBytes: Number(usedBytes.value), ...numbers({ inodesUsed }) },
          }),
        },
      ];
    }),
  );
}

function usageOf(cpu: cri.CpuUsage | undefined, memory: cri.MemoryUsage | undefined): Usage | undefined {
  const time = milliseconds(cpu?.timestamp ?? memory?.timestamp ?? 0n);
  if (time === undefined) return undefined;
  return {
    time,
    ...numbers({
      cpuNanoseconds: cpu?.usageCoreNanoSeconds,
      workingSetBytes: memory?.workingSetBytes,
      rssBytes: memory?.rssBytes,
      usageBytes: memory?.usageBytes,
      pageFaults: memory?.pageFaults,
      majorPageFaults: memory?.majorPageFaults,
    }),
  };
}

function networkOf(network: cri.NetworkUsage | undefined): InterfaceTraffic[] | undefined {
  const all = [...(network?.defaultInterface ? [network.defaultInterface] : []), ...(network?.interfaces ?? [])];
  if (all.length === 0) return undefined;
  return all.map(({ name, rxBytes, txBytes, rxErrors, txErrors }) => ({
    name,
    receivedBytes: Number(rxBytes?.value ?? 0n),
    sentBytes: Number(txBytes?.value ?? 0n),
    receiveErrors: Number(rxErrors?.value ?? 0n),
    sendErrors: Number(txErrors?.value ?? 0n),
  }));
}

/** Only those that the runtime gave: none is not the same as zero. */
function numbers<K extends string>(given: Record<K, cri.UInt64Value | undefined>): { [P in K]?: number } {
  const known = Object.entries<cri.UInt64Value | undefined>(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([key, value]) => [key, Number(value?.value)])) as { [P in K]?: number };
}
