import { appendFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "@fjord/base";
import type { ContainerRecord, SandboxRecord } from "./record-file.ts";
import type { Settings } from "./settings.ts";

/** What a simulated container is taken to have written. */
export function logText(settings: Settings, container: string, pod: { namespace: string; name: string }): string {
  const told = settings.get("log", container);
  return told ?? `simulated: container ${container} of pod ${pod.namespace}/${pod.name} has started, and nothing runs`;
}

/** Writes logs of simulated containers where those of others are. */
export class SimulatedLog {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async begin(sandbox: SandboxRecord, { name, logFile }: ContainerRecord, settings: Settings): Promise<void> {
    const time = new Date(this.#clock.now()).toISOString().replace("Z", "000000Z");
    const lines = logText(settings, name, sandbox.pod).split("\n");
    await mkdir(dirname(logFile), { recursive: true });
    await appendFile(logFile, lines.map((line) => `${time} stdout F ${line}\n`).join(""));
  }
}
