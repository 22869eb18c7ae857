import { realpathSync } from "node:fs";
import type { Clock, Logger } from "@fjord/base";
import type { RuntimeSandbox } from "../../runtime/runtime.ts";
import type { Cgroups } from "./cgroups.ts";
import { ProcessContainerMissing, ProcessSandboxMissing } from "./errors.ts";
import { removeTree } from "./files.ts";
import { ProcessContainer } from "./process-container.ts";
import { bootId, workingDirectory } from "./process-table.ts";
import { RawSpace } from "./raw-space.ts";
import type { Reaper } from "./reaper.ts";
import type { ContainerRecord, Records, SandboxRecord } from "./records.ts";
import { tool } from "./tools.ts";

export interface ProcessSandbox {
  record: SandboxRecord;
  readonly containers: Map<string, ProcessContainer>;
}

export interface ProcessSandboxesOptions {
  readonly records: Records;
  readonly cgroups?: Cgroups;
  readonly reaper: Reaper;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told the uid of a pod of which something has changed. */
  readonly onChange: (podUid: string) => void;
}

/** The sandboxes of a node with their containers, as the records on disk have them. */
export class ProcessSandboxes {
  readonly boot = bootId();
  readonly #options: ProcessSandboxesOptions;
  readonly #sandboxes = new Map<string, ProcessSandbox>();
  readonly #containers = new Map<string, ProcessContainer>();
  readonly #space: RawSpace;

  constructor(options: ProcessSandboxesOptions) {
    this.#options = options;
    this.#space = new RawSpace(options.logger);
  }

  /** Takes up all records. What a crash has left half made is removed, with whatever carries its mark. */
  async load(): Promise<void> {
    const { records, reaper } = this.#options;
    const { sandboxes, stray } = records.read();
    for (const { record, containers } of sandboxes) {
      const sandbox = this.add(record);
      for (const container of containers) this.addContainer(sandbox, container);
      // Whatever an earlier process was about to start is under way by now, or is made anew.
      for (const container of sandbox.containers.values()) container.forsake();
    }
    await Promise.all([...this.#containers.values()].map((container) => container.begun()));
    await this.#endForgotten();
    if (stray.length === 0) return;
    const names = new Set(stray.map((path) => path.slice(path.lastIndexOf("/") + 1)));
    await reaper.kill({ matches: (each) => each.container !== undefined && names.has(each.container) });
    await Promise.all(stray.map(removeTree));
  }

  /**
   * Whoever puts the folder back as it was before, from a copy, leaves containers running of which it says nothing, and
   * others whose keepers write to a folder that is gone.
   */
  async #endForgotten(): Promise<void> {
    const { records, reaper, logger } = this.#options;
    const root = `${realpathSync(records.root)}/`;
    const forgotten = new Set<string>();
    for (const { keeper, container, pid } of await reaper.scan()) {
      if (!keeper || container === undefined) continue;
      const place = workingDirectory(pid);
      if (!place?.startsWith(root)) continue;
      if (!this.#containers.has(container) || place.endsWith(" (deleted)")) forgotten.add(container);
    }
    if (forgotten.size === 0) return;
    logger.warn("ending containers that the state of the node does not go with", { containers: forgotten.size });
    await reaper.kill({ matches: ({ container }) => container !== undefined && forgotten.has(container) });
  }

  all(): Iterable<ProcessSandbox> {
    return this.#sandboxes.values();
  }

  find(id: string): ProcessSandbox | undefined {
    return this.#sandboxes.get(id);
  }

  get(id: string, action: string): ProcessSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (!sandbox) throw new ProcessSandboxMissing({ action, id });
    return sandbox;
  }

  add(record: SandboxRecord): ProcessSandbox {
    const sandbox: ProcessSandbox = { record, containers: new Map() };
    this.#sandboxes.set(record.id, sandbox);
    return sandbox;
  }

  /** Forgets it, on disk too; its containers are gone by then. */
  async remove(id: string): Promise<void> {
    await this.#options.records.removeSandbox(id);
    this.#sandboxes.delete(id);
  }

  /** Whether another sandbox of the pod uses the control group. */
  shares(sandbox: ProcessSandbox): boolean {
    const { cgroup } = sandbox.record;
    return [...this.#sandboxes.values()].some((other) => other !== sandbox && other.record.cgroup === cgroup);
  }

  findContainer(id: string): ProcessContainer | undefined {
    return this.#containers.get(id);
  }

  container(id: string, action: string): ProcessContainer {
    const container = this.#containers.get(id);
    if (!container) throw new ProcessContainerMissing({ action, id });
    return container;
  }

  addContainer(sandbox: ProcessSandbox, record: ContainerRecord): void {
    const { records, cgroups, reaper, clock, logger, onChange } = this.#options;
    const container = new ProcessContainer({
      record,
      sandbox: sandbox.record.id,
      podUid: sandbox.record.pod.uid,
      directory: records.containerDirectory(sandbox.record.id, record.id),
      shell: tool("sh", "start a container"),
      cat: tool("cat", "carry logs"),
      ...(cgroups ? { cgroups } : {}),
      reaper,
      clock,
      logger,
      releaseRaw: (file, end) => this.#space.release(file, end),
      onChange: () => onChange(sandbox.record.pod.uid),
    });
    sandbox.containers.set(record.id, container);
    this.#containers.set(record.id, container);
  }

  /** Forgets a container that has been ended, on disk too. */
  async removeContainer(container: ProcessContainer): Promise<void> {
    const { id, options } = container;
    await this.#options.records.removeContainer(options.sandbox, id);
    this.#containers.delete(id);
    this.#sandboxes.get(options.sandbox)?.containers.delete(id);
  }

  /** As runtimes list them: newest first. */
  async list(): Promise<RuntimeSandbox[]> {
    const result: RuntimeSandbox[] = [];
    for (const { record, containers: all } of this.#sandboxes.values()) {
      const containers = await Promise.all([...all.values()].map((container) => container.status()));
      result.push({
        id: record.id,
        pod: record.pod,
        attempt: record.attempt,
        state: record.stoppedAt === undefined && record.boot === this.boot ? "ready" : "notReady",
        createdAt: record.createdAt,
        addresses: record.address === undefined ? [] : [record.address],
        annotations: record.annotations,
        containers: containers.sort(newestFirst),
      });
    }
    return result.sort(newestFirst);
  }

  close(): void {
    for (const container of this.#containers.values()) container.close();
  }
}

function newestFirst(
  one: { readonly createdAt: number; readonly attempt: number },
  other: { readonly createdAt: number; readonly attempt: number },
): number {
  return other.createdAt - one.createdAt || other.attempt - one.attempt;
}
