// `npm run build [-- FOLDER]`: bundles every package into dist/, one file for each of its exports and programs, for shipping. Packages of this
// repository are bundled in; those of npm stay imports.
import { cpSync, existsSync, globSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildPage } from "@fjord/dashboard";
import { build } from "esbuild";
import { outputFolderOrEnd } from "./output/output-folder.ts";

const root = dirname(import.meta.dirname);
const dist = outputFolderOrEnd(root, { command: "npm run build", usual: "dist", sign: "kube/index.mjs" });
rmSync(dist, { recursive: true, force: true });

const manifests = globSync("packages/*/package.json", { cwd: root }).map((path) => ({
  folder: dirname(path),
  ...(JSON.parse(readFileSync(join(root, path), "utf8")) as {
    exports: Record<string, string>;
    bin?: Record<string, string>;
    dependencies?: Record<string, string>;
  }),
}));
const external = manifests.flatMap(({ dependencies = {} }) =>
  Object.keys(dependencies).filter((name) => !name.startsWith("@fjord/")),
);
for (const { folder, exports, bin = {} } of manifests) {
  const entries = [...Object.values(exports), ...Object.values(bin)];
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries.map((source) => join(folder, source)),
    outdir: join(dist, basename(folder)),
    outbase: join(folder, "src"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    sourcemap: true,
    metafile: true,
    external: external.flatMap((name) => [name, `${name}/*`]),
  });
  const data = join(root, folder, "data");
  if (existsSync(data)) cpSync(data, join(dist, basename(folder), "data"), { recursive: true });
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  console.log(`${basename(folder)}: ${entries.length} entries, ${(bytes / 1024).toFixed(0)} KB with source maps`);
}
const { first, whole } = await buildPage(join(dist, "agent", "page"));
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(0)} KB`;
console.log(`page: ${kilobytes(first)} packed at first load, ${kilobytes(whole)} in all`);
