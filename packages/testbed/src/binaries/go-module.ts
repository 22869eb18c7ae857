import type { Recipe } from "./recipes.ts";

/** The staging modules that Kubernetes' go.mod points at folders of its own repository. */
export function stagingModules(goMod: string): string[] {
  return [...goMod.matchAll(/^\s*(?:replace\s+)?(\S+) => \.\/staging\/src\/\S+\s*$/gm)].map(
    ([, module]) => `${module}`,
  );
}

/**
 * The go.mod of an otherwise empty module that requires the recipe's one. `upstream` is that module's own go.mod, whose replacements and
 * GODEBUG defaults hold only while it is the main module: both are repeated here, the former by version instead of folder.
 */
export function forgeGoMod({ module, declared = module, pin, staging }: Recipe, upstream: string): string {
  const lines = ["module fjord.dev/testbed/binaries", "", `go ${pin.go}`, ""];
  const godebug = /^godebug \S+$/m.exec(upstream)?.[0];
  if (godebug !== undefined) lines.push(godebug, "");
  lines.push(`require ${declared} ${pin.version}`, "");
  if (declared !== module) lines.push(`replace ${declared} => ${module} ${pin.version}`);
  const stagingVersion = pin.version.replace(/^v1\./, "v0.");
  for (const name of staging ? stagingModules(upstream) : [])
    lines.push(`replace ${name} => ${name} ${stagingVersion}`);
  return `${lines.join("\n").trimEnd()}\n`;
}

/** The file name that `go build -o folder/` gives a package: its last element that is not a major version. */
export function outputName(packagePath: string): string {
  const elements = packagePath.split("/");
  const last = elements.at(-1) ?? packagePath;
  return /^v\d+$/.test(last) ? (elements.at(-2) ?? last) : last;
}

/** YAML documents in one file. */
export function joinDocuments(documents: readonly string[]): string {
  return documents
    .map((text) => text.trim().replace(/^---\n/, ""))
    .join("\n---\n")
    .concat("\n");
}
