import { type Clock, describeError, type Logger } from "@fjord/base";
import type { ContainerdTasks, TaskEnd } from "./containerd-tasks.ts";
import { type Container, ContainerState, type ContainerStatus, type PodSandbox } from "./proto/messages.ts";

/** How long a runtime may take to tell of an end that it has heard of. */
const PATIENCE = 4_000;

export interface Listed {
  readonly sandboxes: PodSandbox[];
  readonly containers: Container[];
}

interface Suspect {
  readonly sandbox: string;
  /** When it was first seen without a process. */
  readonly since?: number;
}

interface Lost extends TaskEnd {
  readonly sandbox: string;
}

/**
 * Containers that containerd's CRI says run, for ever, though their processes have ended: one that ends while containerd looks for what
 * ran before it was restarted, such as one that waited for a reader of its output and had nothing else to do, ends too soon for it
 * (1.6, and 1.7 before 1.7.34). It then neither stops nor removes the container until it is restarted again. What containerd itself knows of the
 * process is told instead, and what was to be removed is no longer shown.
 */
export class LostEnds {
  readonly #tasks: ContainerdTasks;
  readonly #clock: Clock;
  readonly #log: Logger;
  #isDoubting = true;
  readonly #suspects = new Map<string, Suspect>();
  readonly #lost = new Map<string, Lost>();
  /** Containers and sandboxes that are gone but for what the runtime says. */
  readonly #removed = new Set<string>();

  constructor(options: { tasks: ContainerdTasks; clock: Clock; log: Logger }) {
    this.#tasks = options.tasks;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** The runtime may have been restarted: what it says runs is to be asked for. */
  doubt(): void {
    this.#isDoubting = true;
  }

  /** What the runtime lists, as it is. */
  async correct({ sandboxes, containers }: Listed): Promise<Listed> {
    const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
    if (this.#isDoubting) {
      for (const { id, podSandboxId } of running) {
        if (!this.#lost.has(id) && !this.#suspects.has(id)) this.#suspects.set(id, { sandbox: podSandboxId });
      }
      this.#isDoubting = false;
    }
    if (this.#suspects.size + this.#lost.size + this.#removed.size === 0) return { sandboxes, containers };
    this.#keepOnly(new Set(running.map(({ id }) => id)));
    await Promise.all([...this.#suspects].map(([id, suspect]) => this.#look(id, suspect)));
    return {
      sandboxes: sandboxes.filter(({ id }) => !this.#removed.has(id)),
      containers: containers.flatMap((container) => {
        if (this.#removed.has(container.id) || this.#removed.has(container.podSandboxId)) return [];
        return this.#lost.has(container.id) ? { ...container, state: ContainerState.CONTAINER_EXITED } : container;
      }),
    };
  }

  /** The status of a container, as it is. */
  correctStatus(id: string, status: ContainerStatus): ContainerStatus {
    const lost = this.#lost.get(id);
    if (lost === undefined || status.state !== ContainerState.CONTAINER_RUNNING) return status;
    const { exitCode, finishedAt } = lost;
    const reason = status.reason || (lost.isUnknown ? "Unknown" : "");
    return { ...status, state: ContainerState.CONTAINER_EXITED, exitCode, finishedAt, reason };
  }

  isLost(id: string): boolean {
    return this.#lost.has(id);
  }

  hasLost(sandbox: string): boolean {
    return this.#lost.values().some((lost) => lost.sandbox === sandbox);
  }

  /** Has the runtime find nothing that it would wait for, to stop a container or a sandbox. */
  async release(id: string): Promise<void> {
    const ended = [...this.#lost, ...this.#suspects.entries().filter(([, { since }]) => since !== undefined)];
    const mine = ended.filter(([container, { sandbox }]) => container === id || sandbox === id);
    await Promise.all(mine.map(([container]) => this.#tasks.forget(container)));
  }

  /** A lost container, or a sandbox with one, is shown no more: the runtime cannot remove it. */
  hide(id: string): void {
    this.#removed.add(id);
  }

  /** Where the runtime knows better by now, it is believed. */
  #keepOnly(running: ReadonlySet<string>): void {
    for (const known of [this.#suspects, this.#lost]) {
      for (const id of known.keys()) if (!running.has(id)) known.delete(id);
    }
    for (const id of this.#removed) if (!this.#lost.has(id) && !this.hasLost(id)) this.#removed.delete(id);
  }

  async #look(id: string, { sandbox, since = this.#clock.now() }: Suspect): Promise<void> {
    let end: TaskEnd | undefined;
    try {
      end = await this.#tasks.endOf(id);
    } catch (error) {
      this.#log.debug("cannot look for the process of a container", { container: id, error: describeError(error) });
      return;
    }
    if (end === undefined) this.#suspects.delete(id);
    else if (this.#clock.now() - since < PATIENCE) this.#suspects.set(id, { sandbox, since });
    else {
      this.#suspects.delete(id);
      this.#lost.set(id, { ...end, sandbox });
      this.#log.warn("the container runtime says that a container runs which has ended; restart the runtime", {
        container: id,
        exitCode: end.exitCode,
      });
    }
  }
}
