import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "@fjord/base";
import { cgroupParents } from "../../resources/cgroup-parent.ts";
import { annotations } from "../annotations.ts";
import { isAlive } from "../observed-pod.ts";
import { logsDirectory, podsDirectory, uidOfLogDirectory } from "../pod-directory.ts";
import { removeTree } from "./pod-files.ts";
import type { PodServices } from "./pod-services.ts";
import type { RuntimeView } from "./runtime-view.ts";

export interface OrphanSweepOptions extends Pick<PodServices, "source" | "volumes" | "settings" | "logger"> {
  readonly views: readonly RuntimeView[];
  /** Whether someone looks after the pod. */
  readonly isKept: (podUid: string) => boolean;
}

/** Ends and removes what is left on the machine of pods that the API no longer has. */
export class OrphanSweep {
  readonly #options: OrphanSweepOptions;
  readonly #underWay = new Set<string>();

  constructor(options: OrphanSweepOptions) {
    this.#options = options;
  }

  /** Sweeps once; does nothing while it is not certain which pods there are. */
  async sweep(signal: AbortSignal): Promise<void> {
    const { source, views } = this.#options;
    if (!source.isCurrent || views.some((view) => !view.isListed)) return;
    const found = new Set(views.flatMap((view) => [...view.uids()]));
    await Promise.all([...found].map((uid) => this.#end(uid, signal)));
    const { stateDirectory } = this.#options.settings;
    await this.#sweepFolders(podsDirectory(stateDirectory), (name) => name, signal);
    await this.#sweepFolders(logsDirectory(stateDirectory), uidOfLogDirectory, signal);
  }

  #isOrphan(uid: string): boolean {
    const { source, isKept } = this.#options;
    return source.get(uid) === undefined && !isKept(uid);
  }

  async #end(uid: string, signal: AbortSignal): Promise<void> {
    if (!this.#isOrphan(uid) || this.#underWay.has(uid)) return;
    const { views, logger, volumes } = this.#options;
    this.#underWay.add(uid);
    try {
      logger.info("ending what is left of a pod that is gone", { pod: uid });
      for (const view of views) await endSandboxes(view, uid, signal);
      await volumes.remove(uid);
    } catch (error) {
      if (!signal.aborted) logger.warn("cannot end what is left of a pod", { pod: uid, error: describeError(error) });
    } finally {
      this.#underWay.delete(uid);
    }
  }

  async #sweepFolders(parent: string, uidOf: (name: string) => string | undefined, signal: AbortSignal): Promise<void> {
    const { volumes, views, logger, settings } = this.#options;
    for (const name of await names(parent)) {
      const uid = uidOf(name);
      if (uid === undefined) continue;
      const isFound = views.some((view) => view.get(uid).sandbox !== undefined);
      if (isFound || !this.#isOrphan(uid)) continue;
      try {
        await volumes.remove(uid);
        for (const group of cgroupParents(uid, settings.cgroupRoot)) {
          for (const { runtime } of views) await runtime.clearGroup?.(group, signal);
        }
        await removeTree(join(parent, name));
      } catch (error) {
        logger.warn("cannot remove the files of a pod that is gone", { pod: uid, error: describeError(error) });
      }
    }
  }
}

async function endSandboxes(view: RuntimeView, uid: string, signal: AbortSignal): Promise<void> {
  const { runtime } = view;
  const { sandboxes } = view.get(uid);
  const alive = sandboxes.flatMap(({ containers }) => containers).filter(isAlive);
  await Promise.all(alive.map(({ id, annotations: noted }) => runtime.stopContainer(id, graceOf(noted), signal)));
  for (const { id } of sandboxes) {
    await runtime.stopSandbox(id, signal);
    await runtime.removeSandbox(id, signal);
  }
  if (sandboxes.length > 0) await view.refresh();
}

function graceOf(noted: Readonly<Record<string, string>>): number {
  const seconds = Number(noted[annotations.grace]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : 30;
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
