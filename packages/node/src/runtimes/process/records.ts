import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentVariable } from "../../runtime/configuration.ts";
import type { ContainerResources } from "../../runtime/resources.ts";
import type { PodIdentity } from "../../runtime/runtime.ts";
import { ifThere, readText, removeTree, writeWhole } from "./files.ts";

/** What is known of a sandbox, from before anything of it is made. */
export interface SandboxRecord {
  readonly id: string;
  readonly pod: PodIdentity;
  readonly attempt: number;
  readonly createdAt: number;
  /** Of the machine, when the sandbox was made: after a restart nothing of it runs. */
  readonly boot: string;
  readonly address?: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Control group of the pod, where such can be made. */
  readonly cgroup?: string;
  readonly stoppedAt?: number;
}

export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly createdAt: number;
  readonly image: string;
  readonly imageId: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly resources: ContainerResources;
  readonly user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
  readonly stopSignal: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  /** For commands that are run in it later. */
  readonly environment: readonly EnvironmentVariable[];
  readonly workingDirectory: string;
  readonly privileges: readonly string[];
  /** Its processes end with the first of them, which `init` names. */
  readonly contained: boolean;
  readonly cgroup?: string;
}

/** How a container ended, once its log is complete. */
export interface ContainerEnd {
  readonly exitCode: number;
  readonly finishedAt: number;
  readonly startedAt?: number;
  readonly reason: string;
  readonly message?: string;
}

/** The records of the process runtime: a directory for each sandbox, in it one for each container. */
export class Records {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(root, { recursive: true, mode: 0o700 });
  }

  sandboxDirectory(id: string): string {
    return join(this.root, id);
  }

  containerDirectory(sandbox: string, id: string): string {
    return join(this.root, sandbox, id);
  }

  writeSandbox(record: SandboxRecord): void {
    const directory = this.sandboxDirectory(record.id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeWhole(join(directory, "sandbox.json"), JSON.stringify(record));
  }

  writeContainer(sandbox: string, record: ContainerRecord): void {
    writeWhole(join(this.containerDirectory(sandbox, record.id), "container.json"), JSON.stringify(record));
  }

  /** The record goes first: what is left of a removal that was cut short is no container any more. */
  async removeContainer(sandbox: string, id: string): Promise<void> {
    const directory = this.containerDirectory(sandbox, id);
    rmSync(join(directory, "container.json"), { force: true });
    await removeTree(directory);
  }

  async removeSandbox(id: string): Promise<void> {
    const directory = this.sandboxDirectory(id);
    rmSync(join(directory, "sandbox.json"), { force: true });
    await removeTree(directory);
  }

  /** Sandboxes with their containers; directories without a record were left by a crash and are given apart. */
  read(): { sandboxes: { record: SandboxRecord; containers: ContainerRecord[] }[]; stray: string[] } {
    const stray: string[] = [];
    const sandboxes: { record: SandboxRecord; containers: ContainerRecord[] }[] = [];
    for (const id of folders(this.root)) {
      const record = readJson<SandboxRecord>(join(this.root, id, "sandbox.json"));
      if (!record) {
        stray.push(join(this.root, id), ...folders(join(this.root, id)).map((name) => join(this.root, id, name)));
        continue;
      }
      const containers: ContainerRecord[] = [];
      for (const name of folders(join(this.root, id))) {
        const container = readJson<ContainerRecord>(join(this.root, id, name, "container.json"));
        if (container) containers.push(container);
        else stray.push(join(this.root, id, name));
      }
      sandboxes.push({ record, containers });
    }
    return { sandboxes, stray };
  }
}

export function readJson<T>(path: string): T | undefined {
  const text = readText(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

function folders(path: string): string[] {
  const entries = ifThere(() => readdirSync(path, { withFileTypes: true })) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}
