import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { Runtime } from "../runtime/index.ts";
import { NodeStore } from "../store/index.ts";
import { removeTree, systemMounter, unmountAll } from "../volumes/index.ts";
import { NotANode } from "./errors.ts";
import type { CommandContext } from "./run-command.ts";
import { openRuntimes } from "./runtimes.ts";
import { stateDirectoryOf } from "./state-directory.ts";

export interface ResetFlags {
  stateDir?: string;
  cri?: string;
  dryRun: boolean;
  output?: "json";
}

/** What is removed, or would be: what scripts read. */
interface ResetReport {
  readonly directory: string;
  readonly dryRun: boolean;
  readonly pods: readonly { readonly namespace: string; readonly name: string; readonly uid: string }[];
}

export function addReset(program: Command, context: CommandContext): void {
  program
    .command("reset")
    .description("end all pods of a node that has been stopped, and remove everything it keeps; its Node object stays")
    .option("--state-dir <path>", "the node's state directory (default: as for run)")
    .option("--cri <socket>", "the container runtime that the node used")
    .option("--dry-run", "only say what would be ended and removed", false)
    .addOption(new Option("-o, --output <format>", "print what was removed for scripts to read").choices(["json"]))
    .action((flags: ResetFlags) => resetNode(flags, context));
}

/** What `fjord-node reset` does. */
export async function resetNode(flags: ResetFlags, context: CommandContext): Promise<void> {
  const { clock, logger } = context;
  const { dryRun } = flags;
  const stateDirectory = stateDirectoryOf(flags, context);
  const tell = (pods: ResetReport["pods"]) => {
    const report: ResetReport = { directory: stateDirectory, dryRun, pods };
    if (flags.output === "json") process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  };
  if (!existsSync(stateDirectory)) {
    logger.info("there is nothing to remove", { directory: stateDirectory });
    return tell([]);
  }
  // Whatever is deleted here should have been made by a node.
  if (!existsSync(join(stateDirectory, "node.db"))) throw new NotANode({ directory: stateDirectory });
  // Refused while the node runs.
  using _ = await NodeStore.open({ file: join(stateDirectory, "node.db"), clock, logger });
  const podsDirectory = join(stateDirectory, "pods");
  // A node that never ran a pod has none. One that cannot be read is no reason to leave its pods running.
  const uids = new Set(existsSync(podsDirectory) ? await readdir(podsDirectory) : []);
  const runtimes = await openRuntimes({ ...flags, stateDirectory, clock, logger });
  const pods: ResetReport["pods"][number][] = [];
  for (const runtime of new Set(runtimes.values())) pods.push(...(await endPods(runtime, uids, dryRun, context)));
  if (dryRun) {
    logger.info("nothing was removed", { directory: stateDirectory, pods: pods.length });
    return tell(pods);
  }
  await unmountAll(systemMounter(), stateDirectory);
  for (const entry of await readdir(stateDirectory)) await removeTree(join(stateDirectory, entry));
  await rm(stateDirectory, { recursive: true, force: true });
  logger.info("the node is removed from this machine", { directory: stateDirectory });
  tell(pods);
}

/** Only this node's: others may use the same runtime. */
async function endPods(
  runtime: Runtime,
  uids: ReadonlySet<string>,
  dryRun: boolean,
  { logger, signal }: CommandContext,
): Promise<ResetReport["pods"]> {
  const own = (await runtime.list(signal)).filter(({ pod }) => uids.has(pod.uid));
  for (const { id, pod } of own) {
    logger.info(dryRun ? "this pod would be ended" : "ending a pod", { pod: `${pod.namespace}/${pod.name}` });
    if (dryRun) continue;
    await runtime.stopSandbox(id, signal);
    await runtime.removeSandbox(id, signal);
  }
  // Of an earlier sandbox of the same pod something may be left.
  const byUid = new Map(own.map(({ pod: { namespace, name, uid } }) => [uid, { namespace, name, uid }]));
  return [...byUid.values()];
}
