import { type Command, Option } from "commander";
import { FJORD_VERSION } from "../version.ts";

export function addVersion(program: Command): void {
  program
    .command("version")
    .description("print the version")
    .addOption(new Option("-o, --output <format>", "for scripts to read").choices(["json"]))
    .action(({ output }: { output?: "json" }) => {
      const version = {
        version: FJORD_VERSION,
        node: process.version,
        platform: `${process.platform}/${process.arch}`,
      };
      process.stdout.write(`${output === "json" ? JSON.stringify(version) : FJORD_VERSION}\n`);
    });
}
