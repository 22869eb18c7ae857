import { type Clock, sleep } from "@fjord/base";
import type { Cgroups } from "./cgroups.ts";
import { type MarkedProcess, scanProcesses } from "./process-table.ts";

/** Which processes are meant. */
export interface Prey {
  readonly matches: (process: MarkedProcess) => boolean;
  /** Control group with all of them, where there is one; else the machine's processes are looked through. */
  readonly cgroup?: string;
}

/** Kills whatever belongs to a container or a pod, also what has forked away. */
export class Reaper {
  readonly #cgroups: Cgroups | undefined;
  readonly #clock: Clock;
  #scan: Promise<MarkedProcess[]> | undefined;

  constructor(cgroups: Cgroups | undefined, clock: Clock) {
    this.#cgroups = cgroups;
    this.#clock = clock;
  }

  /** The marked processes of the machine; whoever asks at the same time shares one look, which costs some milliseconds. */
  scan(): Promise<MarkedProcess[]> {
    this.#scan ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#scan = undefined;
        try {
          resolve(scanProcesses());
        } catch (error) {
          reject(error);
        }
      });
    });
    return this.#scan;
  }

  /** Resolves when none is left. What can not be killed (asleep in the kernel) is given up after `patience`. */
  async kill(prey: Prey, patience = 10_000): Promise<boolean> {
    const deadline = this.#clock.now() + patience;
    for (let wait = 2; ; wait = Math.min(100, wait * 2)) {
      const found = await this.#find(prey);
      if (found.size === 0) return true;
      for (const pid of found) kill(pid);
      if (this.#clock.now() > deadline) return false;
      await sleep(this.#clock, wait);
    }
  }

  async #find(prey: Prey): Promise<Set<number>> {
    if (this.#cgroups && prey.cgroup !== undefined) return new Set(this.#cgroups.processes(prey.cgroup));
    const found = (await this.scan()).filter((each) => prey.matches(each));
    return new Set(found.map((each) => each.pid));
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
