import { join } from "node:path";
import { build } from "esbuild";

/** Bundles fjord-node as it is shipped, and gives the file to run. */
export async function buildProgram(directory: string): Promise<string> {
  const outdir = join(directory, "fjord-node");
  await build({
    entryPoints: [join(import.meta.dirname, "..", "src", "cli.ts")],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
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
  return join(outdir, "cli.mjs");
}

function ownFile(specifier: string): string {
  const [, name = "", entry = "index"] = specifier.split("/");
  return join(import.meta.dirname, "..", "..", name, "src", `${entry}.ts`);
}
