import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { Runtime } from "../runtime/index.ts";
import { NodeStore } from "../store/index.ts";
import { removeTree, systemMounter, unmountAll } from "../volumes/index.ts";
import { NotANode } from "./errors.ts";
import type { CommandContext } from "./run-command.ts";
import { openRuntimes } from "./runtimes.ts";
import { stateDirectoryOf } from "./state-directory.ts";

interface ResetFlags {
  stateDir?: string;
  cri?: string;
}

export function addReset(program: Command, context: CommandContext): void {
  program
    .command("reset")
    .description("end all pods of a node that has been stopped, and remove everything it keeps; its Node object stays")
    .option("--state-dir <path>", "the node's state directory (default: as for run)")
    .option("--cri <socket>", "the container runtime that the node used")
    .action((flags: ResetFlags) => resetNode(flags, context));
}

async function resetNode(flags: ResetFlags, context: CommandContext): Promise<void> {
  const { clock, logger } = context;
  const stateDirectory = stateDirectoryOf(flags, context);
  if (!existsSync(stateDirectory)) return logger.info("there is nothing to remove", { directory: stateDirectory });
  // Whatever is deleted here should have been made by a node.
  if (!existsSync(join(stateDirectory, "node.db"))) throw new NotANode({ directory: stateDirectory });
  // Refused while the node runs.
  using _ = await NodeStore.open({ file: join(stateDirectory, "node.db"), clock, logger });
  const pods = join(stateDirectory, "pods");
  // A node that never ran a pod has none. One that cannot be read is no reason to leave its pods running.
  const uids = new Set(existsSync(pods) ? await readdir(pods) : []);
  const runtimes = await openRuntimes({ ...flags, stateDirectory, clock, logger });
  for (const runtime of new Set(runtimes.values())) await endPods(runtime, uids, context);
  await unmountAll(systemMounter(), stateDirectory);
  for (const entry of await readdir(stateDirectory)) await removeTree(join(stateDirectory, entry));
  await rm(stateDirectory, { recursive: true, force: true });
  logger.info("the node is removed from this machine", { directory: stateDirectory });
}

/** Only this node's: others may use the same runtime. */
async function endPods(runtime: Runtime, uids: ReadonlySet<string>, { logger, signal }: CommandContext): Promise<void> {
  for (const { id, pod } of await runtime.list(signal)) {
    if (!uids.has(pod.uid)) continue;
    logger.info("ending a pod", { namespace: pod.namespace, pod: pod.name });
    await runtime.stopSandbox(id, signal);
    await runtime.removeSandbox(id, signal);
  }
}
