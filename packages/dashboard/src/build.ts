import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

const browser = join(import.meta.dirname, "../browser");

/** What a build weighs: what the browser fetches before it shows something, and everything, in bytes as sent. */
export interface PageWeight {
  readonly first: number;
  readonly whole: number;
}

/** Bundles the page into a folder: `index.html`, and scripts and styles whose names hold a hash of their content. */
export async function buildPage(folder: string): Promise<PageWeight> {
  // Only where something is built: most find what was built before.
  const { build } = await import("esbuild");
  const made = `${folder}.${process.pid}`;
  const { metafile } = await build({
    absWorkingDir: browser,
    entryPoints: ["main.tsx"],
    outdir: join(made, "assets"),
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2024",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    legalComments: "none",
    // What fails is thrown, and told by whoever builds.
    logLevel: "silent",
    metafile: true,
  });
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), output }));
  const entry = outputs.find(({ output }) => output.entryPoint === "main.tsx");
  if (entry === undefined) throw new Error("the build has no entry: esbuild has changed how it names them");
  const style = basename(entry.output.cssBundle ?? "");
  const html = readFileSync(join(browser, "index.html"), "utf8")
    .replace("{{script}}", `/assets/${entry.name}`)
    .replace("{{style}}", `/assets/${style}`);
  writeFileSync(join(made, "index.html"), html);
  writeFileSync(join(made, "icon.svg"), readFileSync(join(browser, "icon.svg")));
  const packed = (name: string) => gzipSync(readFileSync(join(made, "assets", name)), { level: 9 }).length;
  const eager = eagerOf(entry.name, new Map(outputs.map(({ name, output }) => [name, output.imports])));
  const weight = {
    first: [...eager, style].reduce((sum, name) => sum + packed(name), gzipSync(html).length),
    whole: outputs.reduce((sum, { name }) => sum + packed(name), gzipSync(html).length),
  };
  // At once, so that an agent that reads the folder at this moment finds all of a build.
  mkdirSync(dirname(folder), { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(made, folder);
  return weight;
}

/** Builds where the sources are newer than what was built, and gives the folder. */
export async function ensurePage(folder: string): Promise<string> {
  const index = join(folder, "index.html");
  const since = existsSync(index) ? statSync(index).mtimeMs : 0;
  const sources = globSync(["**/*", "../src/build.ts", "../../agent/src/page/model/*.ts"], { cwd: browser });
  if (since === 0 || sources.some((source) => statSync(join(browser, source)).mtimeMs > since)) await buildPage(folder);
  return folder;
}

type Imports = readonly { readonly path: string; readonly kind: string }[];

/** What a script imports at once, and what that imports. */
function eagerOf(entry: string, imports: ReadonlyMap<string, Imports>): Set<string> {
  const found = new Set<string>();
  const visit = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    for (const { path, kind } of imports.get(name) ?? []) if (kind === "import-statement") visit(basename(path));
  };
  visit(entry);
  return found;
}
