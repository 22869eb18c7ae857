import { join } from "node:path";
import type { Clock, Logger } from "@fjord/base";
import type { Runtime } from "../runtime/index.ts";
import { NoRuntime } from "./errors.ts";
import { fileOption } from "./file-option.ts";

export interface RuntimeChoice {
  /** What pods run by that name no RuntimeClass. */
  readonly runtime?: "cri" | "process" | "simulated";
  /** Socket of a container runtime. */
  readonly cri?: string;
  /** For pods of the process runtime, inside 127.0.0.0/8; or for simulated ones. */
  readonly podRange?: string;
  /** File with the rules of the simulation. */
  readonly simulatedRules?: string;
}

export interface RuntimesOptions extends RuntimeChoice {
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The runtimes of a node, by the handlers of RuntimeClasses; the default one also has the empty handler. */
export async function openRuntimes(options: RuntimesOptions): Promise<Map<string, Runtime>> {
  if (options.runtime === "simulated") {
    const runtime = await simulatedRuntime(options);
    return new Map([
      ["", runtime],
      ["simulated", runtime],
    ]);
  }
  const main = options.runtime ?? (options.cri === undefined ? "process" : "cri");
  const runtimes = new Map<string, Runtime>([["process", await processRuntime(options)]]);
  if (options.cri !== undefined) runtimes.set("cri", await criRuntime(options.cri, options));
  const first = runtimes.get(main);
  if (first === undefined) throw new NoRuntime({ reason: "--runtime cri needs --cri with the runtime's socket" });
  return runtimes.set("", first);
}

async function processRuntime({ stateDirectory, podRange, clock, logger }: RuntimesOptions): Promise<Runtime> {
  const { PodRange, ProcessRuntime } = await import("../runtimes/process/index.ts");
  // Held until this process ends: the pods of two nodes must not have the same addresses.
  const range = await PodRange.claim({
    file: join(stateDirectory, "pod-range"),
    ...(podRange !== undefined && { wanted: podRange }),
    logger,
  });
  return ProcessRuntime.open({ stateDirectory, podRange: range.cidr, clock, logger });
}

async function simulatedRuntime(options: RuntimesOptions): Promise<Runtime> {
  const { stateDirectory, podRange, simulatedRules: file, clock, logger } = options;
  const { parseRules, noRules, SimulatedRuntime } = await import("../runtimes/simulated/index.ts");
  const rules = file === undefined ? noRules : await parseRules(await fileOption("--simulated-rules", file), file);
  return SimulatedRuntime.open({
    file: join(stateDirectory, "simulated.json"),
    rules: rules.pods,
    ...(podRange !== undefined && { podRange }),
    clock,
    logger,
  });
}

/** Its code is loaded only where it is wanted. */
async function criRuntime(socket: string, { stateDirectory, clock, logger }: RuntimesOptions): Promise<Runtime> {
  const { openCriRuntime } = await import("../runtimes/cri/index.ts");
  const files = {
    startsDirectory: join(stateDirectory, "starts"),
    keptDirectory: join(stateDirectory, "kept-outputs"),
  };
  return openCriRuntime({ socket, ...files, clock, log: logger });
}
