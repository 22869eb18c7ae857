import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { findNodePackages } from "../binaries/index.ts";
import { openBed } from "../open-bed.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

export function addLoadImage(program: Command, context: CommandContext): void {
  program
    .command("load-image")
    .description("give the images of an archive to the real nodes: there is no registry to pull them from")
    .argument("<file>", "a tar, as `docker save` or an OCI layout has it")
    .argument("[site]", "without it the nodes of all sites")
    .action(async (file: string, name: string | undefined, _, command: Command) => {
      const bed = await openBed(command.optsWithGlobals<CommonOptions>().directory);
      const tools = findNodePackages({ env: context.env });
      if ("reasons" in tools) return command.error(`error: ${tools.reasons.join("; ")}`);
      // Loaded on demand: it brings along what only real nodes have a use for.
      const { loadArchive, realNodesOf } = await import("../nodes/image-archive.ts");
      const sites = (name === undefined ? bed.sites : [bed.site(name)]).filter((site) => realNodesOf(site).length > 0);
      if (sites.length === 0) command.error("error: there are no real nodes; `up --nodes 1` makes them");
      const archive = await readFile(resolve(context.env.INIT_CWD ?? "", file));
      const { signal } = context;
      for (const site of sites) {
        const images = await loadArchive(site, archive, { ctr: tools.programs.ctr, signal });
        if (images.length === 0) command.error(`error: no image in ${file} has a name that a pod could use`);
        context.progress(`Loaded ${images.join(", ")} on ${realNodesOf(site).join(", ")}`);
      }
    });
}
