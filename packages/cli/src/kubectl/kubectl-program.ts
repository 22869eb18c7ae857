import { accessSync, constants, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { CommandContext } from "../command-line/command-context.ts";
import { NoKubectl } from "../errors.ts";

/** The kubectl to use: the one that FJORD_KUBECTL names, one of PATH, or one that the test bed has got. */
export function kubectlProgram({ env, home }: Pick<CommandContext, "env" | "home">): string {
  if (env.FJORD_KUBECTL) return env.FJORD_KUBECTL;
  const onPath = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const cache = join(env.XDG_CACHE_HOME ?? join(home, ".cache"), "fjord");
  const found = [...onPath.map((folder) => join(folder, "kubectl")), ...cached(cache)].find(isExecutable);
  if (found === undefined) throw new NoKubectl({ looked: `PATH and ${cache}` });
  return found;
}

function cached(folder: string): string[] {
  try {
    const files = readdirSync(folder, { recursive: true }) as string[];
    return files
      .filter((file) => file.endsWith("/kubectl"))
      .toSorted()
      .reverse()
      .map((file) => join(folder, file));
  } catch {
    // There is no such folder: nothing was got yet.
    return [];
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
