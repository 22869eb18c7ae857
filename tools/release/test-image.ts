import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileEntry, type ImageRequest, linkedProgram } from "@fjord/testbed";

type Files = NonNullable<ImageRequest["files"]>;

/** What the Dockerfile says, as far as an image can be made of it without a registry to pull Node from. */
interface Recipe {
  readonly folder: string;
  readonly programs: readonly string[];
  readonly user: string;
  readonly cmd: readonly string[];
}

/** The image of the Dockerfile, with the Node of this machine in the place of the one that Docker would pull. */
export function releaseImage(name: string, root: string, pack: string): ImageRequest {
  const { folder, programs, user, cmd } = recipeOf(readFileSync(join(root, "Dockerfile"), "utf8"));
  const packed = globSync("**/*", { cwd: pack }).filter((path) => statSync(join(pack, path)).isFile());
  const links = programs.map((program) => ({ path: `usr/local/bin/${program}`, link: `${folder}/${program}.mjs` }));
  const files: Files = [
    ...linkedProgram(process.execPath, "/usr/local/bin/node"),
    ...packed.map((path) => fileEntry(join(pack, path), `${folder}/${path}`)),
    ...links,
  ];
  return { name, files, user, cmd };
}

function recipeOf(dockerfile: string): Recipe {
  const find = (pattern: RegExp) => {
    const found = pattern.exec(dockerfile)?.[1];
    if (found === undefined) throw new Error(`the Dockerfile has nothing like ${pattern}`);
    return found;
  };
  return {
    folder: find(/^COPY \S+ (\S+)$/m),
    programs: find(/^RUN for program in (.*?); do ln -s/m).split(" "),
    user: find(/^USER (\S+)$/m),
    cmd: JSON.parse(find(/^CMD (.*)$/m)) as string[],
  };
}
