import { existsSync } from "node:fs";
import { join } from "node:path";
import { FjordError } from "@fjord/base";
import { resetNode } from "@fjord/node/reset";
import type { CommandContext } from "../command-line/command-context.ts";
import { NotASite, SiteRuns } from "../errors.ts";
import { isSiteDirectory, removeSiteDirectory, some } from "./site-directory.ts";

/** Of the node's store: its advice is for one that is to be started. */
const IN_USE = "NODE_STORE_IN_USE";

/** Ends what the pods of a stopped site left running, and removes what it kept. */
export async function resetMicroSite(
  directory: string,
  context: CommandContext & { readonly isRoot: boolean },
): Promise<void> {
  if (!existsSync(directory)) {
    context.note(`there is nothing to remove in ${directory}\n`);
    return;
  }
  // Whatever is deleted here should have been made by a site.
  if (!isSiteDirectory(directory)) throw new NotASite({ directory });
  const node = join(directory, "node");
  // Refused while the site runs.
  if (existsSync(join(node, "node.db"))) {
    await resetNode({ stateDir: node, dryRun: false }, context).catch((error: unknown) => {
      throw error instanceof FjordError && error.code === IN_USE
        ? new SiteRuns({ directory }, { cause: error })
        : error;
    });
  }
  const left = await removeSiteDirectory(directory);
  context.print(`the site in ${directory} is removed\n`);
  if (left.length > 0) context.warn(`${directory} stays: ${some(left)} in it was not made by the site\n`);
}
