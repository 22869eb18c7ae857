import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileEntry, type ImageRequest, linkedProgram } from "@fjord/testbed";
import { wireguardProgram } from "@fjord/testbed/testing";

type Files = NonNullable<ImageRequest["files"]>;

/** What the Dockerfile says, as far as an image can be made of it without a registry to pull Node from. */
interface Recipe {
  readonly packages: readonly string[];
  readonly folder: string;
  readonly programs: readonly string[];
  readonly user: string;
  readonly cmd: readonly string[];
}

/** What programs use of Debian's packages, as this machine has it. */
const PROGRAMS: Readonly<Record<string, () => Files>> = {
  iproute2: () => linkedProgram("/usr/sbin/ip", "/usr/local/bin/ip"),
  nftables: () => linkedProgram("/usr/sbin/nft", "/usr/local/bin/nft"),
  "wireguard-tools": () => linkedProgram("/usr/bin/wg", "/usr/local/bin/wg"),
  // What runs by it uses none of its modules.
  "perl-base": () => linkedProgram("/usr/bin/perl", "/usr/local/bin/perl"),
  "wireguard-go": () => [fileEntry(wireguardProgram(), "/usr/local/bin/wireguard-go")],
};

/** The image of the Dockerfile, with the Node of this machine in the place of the one that Docker would pull. */
export function releaseImage(name: string, root: string, pack: string): ImageRequest {
  const { packages, folder, programs, user, cmd } = recipeOf(readFileSync(join(root, "Dockerfile"), "utf8"));
  const packed = globSync("**/*", { cwd: pack }).filter((path) => statSync(join(pack, path)).isFile());
  const links = programs.map((program) => ({ path: `usr/local/bin/${program}`, link: `${folder}/${program}.mjs` }));
  const files: Files = [
    ...linkedProgram(process.execPath, "/usr/local/bin/node"),
    ...packed.map((path) => fileEntry(join(pack, path), `${folder}/${path}`)),
    ...links,
    ...packages.flatMap((name) => programsOf(name)),
  ];
  // Programs share libraries.
  return { name, files: [...new Map(files.map((file) => [file.path, file])).values()], user, cmd };
}

function programsOf(name: string): Files {
  const programs = PROGRAMS[name];
  if (programs === undefined) throw new Error(`nobody knows what the image needs of ${name}`);
  return programs();
}

function recipeOf(dockerfile: string): Recipe {
  const find = (pattern: RegExp) => {
    const found = pattern.exec(dockerfile)?.[1];
    if (found === undefined) throw new Error(`the Dockerfile has nothing like ${pattern}`);
    return found;
  };
  return {
    packages: find(/apt-get install --yes --no-install-recommends (.*?) &&/).split(" "),
    folder: find(/^COPY \S+ (\S+)$/m),
    programs: find(/^RUN for program in (.*?); do ln -s/m).split(" "),
    user: find(/^USER (\S+)$/m),
    cmd: JSON.parse(find(/^CMD (.*)$/m)) as string[],
  };
}
