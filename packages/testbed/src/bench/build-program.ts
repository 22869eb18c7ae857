import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const packages = fileURLToPath(new URL("../../..", import.meta.url));

/** Bundles the sources of a program, such as `node/src/cli.ts`, beside the libraries that are installed here, and gives the file to run. */
export async function buildProgram(source: string, directory: string): Promise<string> {
  const [name = ""] = source.split("/");
  const outdir = join(directory, name);
  await build({
    entryPoints: [join(packages, source)],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    packages: "external",
    plugins: [
      {
        name: "own packages are bundled in",
        setup: ({ onResolve }) => {
          onResolve({ filter: /^@fjord\// }, ({ path }) => ({ path: ownFile(path) }));
        },
      },
    ],
  });
  return join(outdir, `${basename(source, ".ts")}.mjs`);
}

function ownFile(specifier: string): string {
  const [, name = "", ...entry] = specifier.split("/");
  const manifest = readFileSync(join(packages, name, "package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as { exports: Record<string, string> };
  return join(packages, name, exports[[".", ...entry].join("/")] ?? "");
}
