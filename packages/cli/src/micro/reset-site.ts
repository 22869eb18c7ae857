import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { resetNode } from "@fjord/node/reset";
import type { CommandContext } from "../command-line/command-context.ts";
import { NotASite } from "../errors.ts";

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
  if (!existsSync(join(directory, "kubernetes"))) throw new NotASite({ directory });
  const node = join(directory, "node");
  // Refused while the site runs.
  if (existsSync(node)) await resetNode({ stateDir: node, dryRun: false }, context);
  await rm(directory, { recursive: true, force: true });
  context.print(`the site in ${directory} is removed\n`);
}
